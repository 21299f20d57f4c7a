; Softmax 64x64.
.program p0
.needs contexts=16
.loop l0 16
.loop l1 15
.loop l2 16
.loop l3 16
.loop l4 15
.loop l5 16
.loop l6 16
.apu a0 0 68 1 l0:272
.apu a1 4 68 1 l1:4 l2:272
.apu a2 8704 1 0 l3:4
.apu a3 0 68 1 l3:272
.apu a4 4 68 1 l4:4 l5:272
.apu a5 4352 68 1 l4:4 l5:272
.apu a6 4412 68 1 l6:272
.apu a7 8772 1 0 l6:4
start_independent_loop l0
  load a0, OUTPUT
  max 0
end_loop l0
start_loop l1
  start_independent_loop l2
    load a1, OUTPUT
    max 1
  end_loop l2
end_loop l1
start_independent_loop l3
  store a2, ACC, 1, 4
  load a2, WEIGHTS
  zero ACC
  load a3, INPUT
  sub
  copy INPUT, OUTPUT
  exp
end_loop l3
start_loop l4
  start_independent_loop l5
    load a4, INPUT
    store a5, OUTPUT
    sum 1
    sub
    copy INPUT, OUTPUT
    exp
  end_loop l5
end_loop l4
start_independent_loop l6
  store a6, OUTPUT
  sum 1
  store a7, ACC, 1, 4
end_loop l6
.program p1
.needs contexts=16
.loop l0 16
.loop l1 15
.loop l2 16
.loop l3 16
.apu a0 8772 1 0 l0:4
.apu a1 4352 68 1 l0:272
.apu a2 4356 68 1 l1:4 l2:272
.apu a3 4352 68 1 l1:4 l2:272
.apu a4 4412 68 1 l3:272
start_independent_loop l0
  load a0, WEIGHTS
  load a1, INPUT
  div
end_loop l0
start_loop l1
  start_independent_loop l2
    load a2, INPUT
    store a3, OUTPUT
    div
  end_loop l2
end_loop l1
start_independent_loop l3
  store a4, OUTPUT
end_loop l3
