; Matmul 96, A transposed, its result over its factors: the scratchpad of this build is small.
.program p0
.needs contexts=12
.loop l0 2
.loop l1 24
.loop l2 12
.loop l3 12
.apu a0 0 100 1 l1:400
.apu a1 0 1 100 l0:48 l1:400 l3:4
.loop l4 12
.loop l5 23
.loop l6 23
.apu a2 4 100 1 l5:4
.apu a3 0 1 100 l0:48 l4:4
.apu a4 6784 1 100 l0:48 l5:400 l4:4
.apu a5 404 100 1 l5:4 l6:400
.apu a6 400 1 100 l0:48 l6:400 l3:4
.apu a7 15984 1 100 l0:48 l2:4
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
