; Matmul 16.
.program p0
.needs contexts=4
.loop l0 4
.loop l1 4
.loop l2 4
.apu a0 0 1 20 l0:4
.apu a1 320 1 20 l0:80 l2:4
.loop l3 4
.loop l4 3
.loop l5 3
.apu a2 80 1 20 l4:80
.apu a3 320 1 20 l3:4
.apu a4 640 1 20 l4:80 l3:4
.apu a5 84 1 20 l4:80 l5:4
.apu a6 400 1 20 l5:80 l2:4
.apu a7 880 1 20 l1:4
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
