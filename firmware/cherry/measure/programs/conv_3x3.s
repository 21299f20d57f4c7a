; Conv 3x3.
.program p0
.needs contexts=16
.loop l0 4
.loop l1 4
.loop l2 3
.loop l3 3
.loop l4 2
.loop l5 16
.loop l6 16
.apu a0 0 324 1 l1:4 l2:18 l3:1 l4:1296 l5:18
.apu a1 2592 1 20 l0:4 l2:480 l3:160 l4:80
.apu a2 9200 260 1 l0:1040 l1:4 l6:16
start_loop l0
  start_loop l1
    zero ACC
    start_loop l2
      start_loop l3
        start_loop l4
          start_independent_loop l5
            load a1, WEIGHTS
            load a0, INPUT
            matmul
          end_loop l5
        end_loop l4
      end_loop l3
    end_loop l2
    start_independent_loop l6
      store a2, ACC
    end_loop l6
  end_loop l1
end_loop l0
