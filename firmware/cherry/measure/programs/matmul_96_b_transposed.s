; Matmul 96, B transposed.
.program p0
.needs contexts=12
.loop l0 2
.loop l1 24
.loop l2 12
.loop l3 12
.apu a0 0 1 100 l1:4
.apu a1 9600 100 1 l0:4800 l1:4 l3:400
.loop l4 12
.loop l5 23
.loop l6 23
.apu a2 400 1 100 l5:400
.apu a3 9600 100 1 l0:4800 l4:400
.apu a4 19200 1 100 l0:48 l5:400 l4:4
.apu a5 404 1 100 l5:400 l6:4
.apu a6 9604 100 1 l0:4800 l6:4 l3:400
.apu a7 28400 1 100 l0:48 l2:4
start_loop l0
  start_independent_loop l2
    zero ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a0, INPUT
      load a1, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a2, INPUT
      load a3, WEIGHTS
      store a4, ACC
      zero ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a5, INPUT
        load a6, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a7, ACC
  end_loop l2
end_loop l0
