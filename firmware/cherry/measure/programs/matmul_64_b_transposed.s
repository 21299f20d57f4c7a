; Matmul 64, B transposed.
.program p0
.needs contexts=16
.loop l0 16
.loop l1 16
.loop l2 16
.apu a0 0 1 68 l0:4
.apu a1 4352 68 1 l0:4 l2:272
.loop l3 16
.loop l4 15
.loop l5 15
.apu a2 272 1 68 l4:272
.apu a3 4352 68 1 l3:272
.apu a4 8704 1 68 l4:272 l3:4
.apu a5 276 1 68 l4:272 l5:4
.apu a6 4356 68 1 l5:4 l2:272
.apu a7 12784 1 68 l1:4
start_independent_loop l1
  zero ACC
end_loop l1
start_loop l0
  start_independent_loop l2
    load a0, INPUT
    load a1, WEIGHTS
    matmul
  end_loop l2
end_loop l0
start_loop l4
  start_independent_loop l3
    load a2, INPUT
    load a3, WEIGHTS
    store a4, ACC
    zero ACC
    matmul
  end_loop l3
  start_loop l5
    start_independent_loop l2
      load a5, INPUT
      load a6, WEIGHTS
      matmul
    end_loop l2
  end_loop l5
end_loop l4
start_independent_loop l1
  store a7, ACC
end_loop l1
