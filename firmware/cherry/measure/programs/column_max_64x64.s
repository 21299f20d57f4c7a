; Column max 64x64.
.program p0
.needs contexts=16
.loop l0 16
.loop l1 16
.loop l2 16
.apu a0 9472 0 0
.apu a1 0 1 68 l0:272 l1:4
.apu a2 9200 1 68 l2:4
load a0, ACC
start_loop l0
  start_independent_loop l1
    load a1, OUTPUT
    max 1
  end_loop l1
end_loop l0
start_independent_loop l2
  store a2, ACC, 1, 4
end_loop l2
