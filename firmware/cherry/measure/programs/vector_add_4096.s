; Vector add 4096.
.program p0
.needs contexts=16
.loop l0 15
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 0 1 4 l1:16
.apu a1 4100 1 4 l1:16
.apu a2 256 1 4 l0:256 l2:16
.apu a3 4356 1 4 l0:256 l2:16
.apu a4 8200 1 4 l0:256 l2:16
.apu a5 12040 1 4 l3:16
start_independent_loop l1
  load a0, INPUT
  load a1, WEIGHTS
  add
end_loop l1
start_loop l0
  start_independent_loop l2
    load a2, INPUT
    load a3, WEIGHTS
    store a4, OUTPUT
    add
  end_loop l2
end_loop l0
start_independent_loop l3
  store a5, OUTPUT
end_loop l3
