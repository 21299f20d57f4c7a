; Saxpy 4096.
.program p0
.needs contexts=16
.loop l0 15
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 12300 0 0
.apu a1 0 1 4 l1:16
.apu a2 4100 1 4 l1:16
.apu a3 256 1 4 l0:256 l2:16
.apu a4 4356 1 4 l0:256 l2:16
.apu a5 4100 1 4 l0:256 l2:16
.apu a6 7940 1 4 l3:16
load a0, WEIGHTS
start_independent_loop l1
  load a1, INPUT
  load a2, OUTPUT
  copy ACC, OUTPUT
  mulacc
end_loop l1
start_loop l0
  start_independent_loop l2
    load a3, INPUT
    load a4, OUTPUT
    store a5, ACC
    copy ACC, OUTPUT
    mulacc
  end_loop l2
end_loop l0
start_independent_loop l3
  store a6, ACC
end_loop l3
