.program p0
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 480 1 20 l1:4
.apu a1 1600 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a2 560 1 20 l5:80
.apu a3 1600 20 1 l0:320 l4:80
.apu a4 2240 1 36 l0:16 l5:144 l4:4
.apu a5 564 1 20 l5:80 l6:4
.apu a6 1604 20 1 l0:320 l6:4 l3:80
.apu a7 2960 1 36 l0:16 l2:4
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
.program p1
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 2240 1 36 l0:16 l2:4
.apu a1 0 1 20 l1:4
.apu a2 960 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a3 80 1 20 l5:80
.apu a4 960 20 1 l0:320 l4:80
.apu a5 2240 1 36 l0:16 l5:144 l4:4
.apu a6 2384 1 36 l0:16 l5:144 l4:4
.apu a7 84 1 20 l5:80 l6:4
.apu a8 964 20 1 l0:320 l6:4 l3:80
.apu a9 2960 1 36 l0:16 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p2
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 2240 1 36 l0:16 l2:4
.apu a1 480 1 20 l1:4
.apu a2 1600 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a3 560 1 20 l5:80
.apu a4 1600 20 1 l0:320 l4:80
.apu a5 2240 1 36 l0:16 l5:144 l4:4
.apu a6 2384 1 36 l0:16 l5:144 l4:4
.apu a7 564 1 20 l5:80 l6:4
.apu a8 1604 20 1 l0:320 l6:4 l3:80
.apu a9 2960 1 36 l0:16 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p3
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.apu a0 2240 1 36 l0:16 l1:4
.apu a1 0 1 4
.apu a2 960 4 1 l0:64 l2:16
.loop l3 4
.loop l4 5
.apu a3 16 1 4 l4:16
.apu a4 960 4 1 l0:64 l3:16
.apu a5 2240 1 36 l0:16 l4:144 l3:4
.apu a6 2384 1 36 l0:16 l4:144 l3:4
.apu a7 2960 1 36 l0:16 l1:4
start_loop l0
  start_independent_loop l1
    load a0, ACC
  end_loop l1
  start_independent_loop l2
    load a1, INPUT
    load a2, WEIGHTS
    matmul
  end_loop l2
  start_loop l4
    start_independent_loop l3
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l3
  end_loop l4
  start_independent_loop l1
    store a7, ACC
  end_loop l1
end_loop l0
.program p4
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 480 1 20 l1:4
.apu a1 1600 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a2 560 1 20 l5:80
.apu a3 1600 20 1 l0:320 l4:80
.apu a4 3104 1 36 l0:16 l5:144 l4:4
.apu a5 564 1 20 l5:80 l6:4
.apu a6 1604 20 1 l0:320 l6:4 l3:80
.apu a7 3824 1 36 l0:16 l2:4
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
.program p5
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 3104 1 36 l0:16 l2:4
.apu a1 0 1 20 l1:4
.apu a2 960 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a3 80 1 20 l5:80
.apu a4 960 20 1 l0:320 l4:80
.apu a5 3104 1 36 l0:16 l5:144 l4:4
.apu a6 3248 1 36 l0:16 l5:144 l4:4
.apu a7 84 1 20 l5:80 l6:4
.apu a8 964 20 1 l0:320 l6:4 l3:80
.apu a9 3824 1 36 l0:16 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p6
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 3104 1 36 l0:16 l2:4
.apu a1 480 1 20 l1:4
.apu a2 1600 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a3 560 1 20 l5:80
.apu a4 1600 20 1 l0:320 l4:80
.apu a5 3104 1 36 l0:16 l5:144 l4:4
.apu a6 3248 1 36 l0:16 l5:144 l4:4
.apu a7 564 1 20 l5:80 l6:4
.apu a8 1604 20 1 l0:320 l6:4 l3:80
.apu a9 3824 1 36 l0:16 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p7
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.apu a0 3104 1 36 l0:16 l1:4
.apu a1 0 1 4
.apu a2 960 4 1 l0:64 l2:16
.loop l3 4
.loop l4 5
.apu a3 16 1 4 l4:16
.apu a4 960 4 1 l0:64 l3:16
.apu a5 3104 1 36 l0:16 l4:144 l3:4
.apu a6 3248 1 36 l0:16 l4:144 l3:4
.apu a7 3824 1 36 l0:16 l1:4
start_loop l0
  start_independent_loop l1
    load a0, ACC
  end_loop l1
  start_independent_loop l2
    load a1, INPUT
    load a2, WEIGHTS
    matmul
  end_loop l2
  start_loop l4
    start_independent_loop l3
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l3
  end_loop l4
  start_independent_loop l1
    store a7, ACC
  end_loop l1
end_loop l0
.program p8
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 480 1 20 l1:4
.apu a1 1600 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a2 560 1 20 l5:80
.apu a3 1600 20 1 l0:320 l4:80
.apu a4 2240 1 36 l0:16 l5:144 l4:4
.apu a5 564 1 20 l5:80 l6:4
.apu a6 1604 20 1 l0:320 l6:4 l3:80
.apu a7 2960 1 36 l0:16 l2:4
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
.program p9
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 2240 1 36 l0:16 l2:4
.apu a1 0 1 20 l1:4
.apu a2 960 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a3 80 1 20 l5:80
.apu a4 960 20 1 l0:320 l4:80
.apu a5 2240 1 36 l0:16 l5:144 l4:4
.apu a6 2384 1 36 l0:16 l5:144 l4:4
.apu a7 84 1 20 l5:80 l6:4
.apu a8 964 20 1 l0:320 l6:4 l3:80
.apu a9 2960 1 36 l0:16 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p10
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 2240 1 36 l0:16 l2:4
.apu a1 480 1 20 l1:4
.apu a2 1600 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a3 560 1 20 l5:80
.apu a4 1600 20 1 l0:320 l4:80
.apu a5 2240 1 36 l0:16 l5:144 l4:4
.apu a6 2384 1 36 l0:16 l5:144 l4:4
.apu a7 564 1 20 l5:80 l6:4
.apu a8 1604 20 1 l0:320 l6:4 l3:80
.apu a9 2960 1 36 l0:16 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p11
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.apu a0 2240 1 36 l0:16 l1:4
.apu a1 0 1 4
.apu a2 960 4 1 l0:64 l2:16
.loop l3 4
.loop l4 5
.apu a3 16 1 4 l4:16
.apu a4 960 4 1 l0:64 l3:16
.apu a5 2240 1 36 l0:16 l4:144 l3:4
.apu a6 2384 1 36 l0:16 l4:144 l3:4
.apu a7 2960 1 36 l0:16 l1:4
start_loop l0
  start_independent_loop l1
    load a0, ACC
  end_loop l1
  start_independent_loop l2
    load a1, INPUT
    load a2, WEIGHTS
    matmul
  end_loop l2
  start_loop l4
    start_independent_loop l3
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l3
  end_loop l4
  start_independent_loop l1
    store a7, ACC
  end_loop l1
end_loop l0
.program p12
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 480 1 20 l1:4
.apu a1 1600 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a2 560 1 20 l5:80
.apu a3 1600 20 1 l0:320 l4:80
.apu a4 3104 1 36 l0:16 l5:144 l4:4
.apu a5 564 1 20 l5:80 l6:4
.apu a6 1604 20 1 l0:320 l6:4 l3:80
.apu a7 3824 1 36 l0:16 l2:4
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
.program p13
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 3104 1 36 l0:16 l2:4
.apu a1 0 1 20 l1:4
.apu a2 960 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a3 80 1 20 l5:80
.apu a4 960 20 1 l0:320 l4:80
.apu a5 3104 1 36 l0:16 l5:144 l4:4
.apu a6 3248 1 36 l0:16 l5:144 l4:4
.apu a7 84 1 20 l5:80 l6:4
.apu a8 964 20 1 l0:320 l6:4 l3:80
.apu a9 3824 1 36 l0:16 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p14
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.loop l3 4
.apu a0 3104 1 36 l0:16 l2:4
.apu a1 480 1 20 l1:4
.apu a2 1600 20 1 l0:320 l1:4 l3:80
.loop l4 4
.loop l5 5
.loop l6 3
.apu a3 560 1 20 l5:80
.apu a4 1600 20 1 l0:320 l4:80
.apu a5 3104 1 36 l0:16 l5:144 l4:4
.apu a6 3248 1 36 l0:16 l5:144 l4:4
.apu a7 564 1 20 l5:80 l6:4
.apu a8 1604 20 1 l0:320 l6:4 l3:80
.apu a9 3824 1 36 l0:16 l2:4
start_loop l0
  start_independent_loop l2
    load a0, ACC
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      load a2, WEIGHTS
      matmul
    end_loop l3
  end_loop l1
  start_loop l5
    start_independent_loop l4
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l4
    start_loop l6
      start_independent_loop l3
        load a7, INPUT
        load a8, WEIGHTS
        matmul
      end_loop l3
    end_loop l6
  end_loop l5
  start_independent_loop l2
    store a9, ACC
  end_loop l2
end_loop l0
.program p15
.needs contexts=4
.loop l0 2
.loop l1 4
.loop l2 4
.apu a0 3104 1 36 l0:16 l1:4
.apu a1 0 1 4
.apu a2 960 4 1 l0:64 l2:16
.loop l3 4
.loop l4 5
.apu a3 16 1 4 l4:16
.apu a4 960 4 1 l0:64 l3:16
.apu a5 3104 1 36 l0:16 l4:144 l3:4
.apu a6 3248 1 36 l0:16 l4:144 l3:4
.apu a7 3824 1 36 l0:16 l1:4
start_loop l0
  start_independent_loop l1
    load a0, ACC
  end_loop l1
  start_independent_loop l2
    load a1, INPUT
    load a2, WEIGHTS
    matmul
  end_loop l2
  start_loop l4
    start_independent_loop l3
      load a3, INPUT
      load a4, WEIGHTS
      store a5, ACC
      load a6, ACC
      matmul
    end_loop l3
  end_loop l4
  start_independent_loop l1
    store a7, ACC
  end_loop l1
end_loop l0
.program p16
.needs contexts=3
.loop l0 6
.loop l1 2
.loop l2 3
.loop l3 3
.loop l4 3
.apu a0 0 1 12 l2:48 l0:144
.apu a1 864 1 0
.apu a2 4 1 12 l3:48 l0:144 l1:4
.apu a3 868 1 0 l1:4
.apu a4 912 1 12 l3:48 l0:144 l1:4
.apu a5 920 1 12 l4:48 l0:144
start_loop l0
  start_independent_loop l2
    load a0, INPUT
    load a1, WEIGHTS
    add
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a2, INPUT
      load a3, WEIGHTS
      store a4, OUTPUT
      add
    end_loop l3
  end_loop l1
  start_independent_loop l4
    store a5, OUTPUT
  end_loop l4
end_loop l0
.program p17
.needs contexts=3
.loop l0 6
.loop l1 2
.loop l2 3
.loop l3 3
.loop l4 3
.apu a0 1776 1 12 l2:48 l0:144
.apu a1 2640 1 0
.apu a2 1780 1 12 l3:48 l0:144 l1:4
.apu a3 2644 1 0 l1:4
.apu a4 2688 1 12 l3:48 l0:144 l1:4
.apu a5 2696 1 12 l4:48 l0:144
start_loop l0
  start_independent_loop l2
    load a0, INPUT
    load a1, WEIGHTS
    add
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a2, INPUT
      load a3, WEIGHTS
      store a4, OUTPUT
      add
    end_loop l3
  end_loop l1
  start_independent_loop l4
    store a5, OUTPUT
  end_loop l4
end_loop l0
.program p18
.needs contexts=3
.loop l0 5
.loop l1 3
.loop l2 3
.loop l3 3
.apu a0 1776 1 4 l1:16
.apu a1 2640 1 0
.apu a2 1824 1 4 l2:16 l0:48
.apu a3 2688 1 4 l2:16 l0:48
.apu a4 2928 1 4 l3:16
start_independent_loop l1
  load a0, INPUT
  load a1, WEIGHTS
  add
end_loop l1
start_loop l0
  start_independent_loop l2
    load a2, INPUT
    load a1, WEIGHTS
    store a3, OUTPUT
    add
  end_loop l2
end_loop l0
start_independent_loop l3
  store a4, OUTPUT
end_loop l3
.step p0 defer
.in fp32 0x10000 480 24 16 pitch=200 mem_pitch=20
.in fp32 0x136c0 1600 32 16 pitch=200 mem_pitch=20
.step p1 prefetch defer
.in fp32 0x10040 0 24 16 pitch=200 mem_pitch=20
.in fp32 0x13700 960 32 16 pitch=200 mem_pitch=20
.step p2 prefetch defer
.in fp32 0x10080 480 24 16 pitch=200 mem_pitch=20
.in fp32 0x13740 1600 32 16 pitch=200 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 2 24 2 mem_pitch=4
.in fp32 0x100c0 0 24 2 pitch=200 mem_pitch=4
.fill 0.0 962 32 2 mem_pitch=4
.in fp32 0x13780 960 32 2 pitch=200 mem_pitch=4
.out fp32 0x16680 2240 6 32 pitch=244 mem_pitch=36
.step p4 prefetch defer
.in fp32 0x10000 480 24 16 pitch=200 mem_pitch=20
.in fp32 0x14fc0 1600 29 16 pitch=200 mem_pitch=20
.out fp32 0x16c38 2456 6 32 pitch=244 mem_pitch=36
.step p5 prefetch defer
.in fp32 0x10040 0 24 16 pitch=200 mem_pitch=20
.in fp32 0x15000 960 29 16 pitch=200 mem_pitch=20
.out fp32 0x171f0 2672 6 32 pitch=244 mem_pitch=36
.step p6 prefetch defer
.in fp32 0x10080 480 24 16 pitch=200 mem_pitch=20
.in fp32 0x15040 1600 29 16 pitch=200 mem_pitch=20
.out fp32 0x177a8 2888 6 32 pitch=244 mem_pitch=36
.step p7 prefetch defer
.fill 0.0 2 24 2 mem_pitch=4
.in fp32 0x100c0 0 24 2 pitch=200 mem_pitch=4
.fill 0.0 962 32 2 mem_pitch=4
.fill 0.0 1076 3 4 mem_pitch=4
.in fp32 0x15080 960 29 2 pitch=200 mem_pitch=4
.out fp32 0x16700 3104 6 29 pitch=244 mem_pitch=36
.step p0 prefetch defer
.in fp32 0x112c0 480 24 16 pitch=200 mem_pitch=20
.in fp32 0x136c0 1600 32 16 pitch=200 mem_pitch=20
.out fp32 0x16cb8 3320 6 29 pitch=244 mem_pitch=36
.step p1 prefetch defer
.in fp32 0x11300 0 24 16 pitch=200 mem_pitch=20
.in fp32 0x13700 960 32 16 pitch=200 mem_pitch=20
.out fp32 0x17270 3536 6 29 pitch=244 mem_pitch=36
.step p2 prefetch defer
.in fp32 0x11340 480 24 16 pitch=200 mem_pitch=20
.in fp32 0x13740 1600 32 16 pitch=200 mem_pitch=20
.out fp32 0x17828 3752 6 29 pitch=244 mem_pitch=36
.step p3 prefetch defer
.fill 0.0 2 24 2 mem_pitch=4
.in fp32 0x11380 0 24 2 pitch=200 mem_pitch=4
.fill 0.0 962 32 2 mem_pitch=4
.in fp32 0x13780 960 32 2 pitch=200 mem_pitch=4
.out fp32 0x17d60 2240 6 32 pitch=244 mem_pitch=36
.step p4 prefetch defer
.in fp32 0x112c0 480 24 16 pitch=200 mem_pitch=20
.in fp32 0x14fc0 1600 29 16 pitch=200 mem_pitch=20
.out fp32 0x18318 2456 6 32 pitch=244 mem_pitch=36
.step p5 prefetch defer
.in fp32 0x11300 0 24 16 pitch=200 mem_pitch=20
.in fp32 0x15000 960 29 16 pitch=200 mem_pitch=20
.out fp32 0x188d0 2672 6 32 pitch=244 mem_pitch=36
.step p6 prefetch defer
.in fp32 0x11340 480 24 16 pitch=200 mem_pitch=20
.in fp32 0x15040 1600 29 16 pitch=200 mem_pitch=20
.out fp32 0x18e88 2888 6 32 pitch=244 mem_pitch=36
.step p7 prefetch defer
.fill 0.0 2 24 2 mem_pitch=4
.in fp32 0x11380 0 24 2 pitch=200 mem_pitch=4
.fill 0.0 962 32 2 mem_pitch=4
.fill 0.0 1076 3 4 mem_pitch=4
.in fp32 0x15080 960 29 2 pitch=200 mem_pitch=4
.out fp32 0x17de0 3104 6 29 pitch=244 mem_pitch=36
.step p8 prefetch defer
.in fp32 0x12580 480 22 16 pitch=200 mem_pitch=20
.in fp32 0x136c0 1600 32 16 pitch=200 mem_pitch=20
.out fp32 0x18398 3320 6 29 pitch=244 mem_pitch=36
.step p9 prefetch defer
.in fp32 0x125c0 0 22 16 pitch=200 mem_pitch=20
.in fp32 0x13700 960 32 16 pitch=200 mem_pitch=20
.out fp32 0x18950 3536 6 29 pitch=244 mem_pitch=36
.step p10 prefetch defer
.in fp32 0x12600 480 22 16 pitch=200 mem_pitch=20
.in fp32 0x13740 1600 32 16 pitch=200 mem_pitch=20
.out fp32 0x18f08 3752 6 29 pitch=244 mem_pitch=36
.step p11 prefetch defer
.fill 0.0 2 24 2 mem_pitch=4
.fill 0.0 88 2 4 mem_pitch=4
.in fp32 0x12640 0 22 2 pitch=200 mem_pitch=4
.fill 0.0 962 32 2 mem_pitch=4
.in fp32 0x13780 960 32 2 pitch=200 mem_pitch=4
.out fp32 0x19440 2240 5 32 pitch=244 mem_pitch=36
.step p12 prefetch defer
.in fp32 0x12580 480 22 16 pitch=200 mem_pitch=20
.in fp32 0x14fc0 1600 29 16 pitch=200 mem_pitch=20
.out fp32 0x19904 2420 6 32 pitch=244 mem_pitch=36
.step p13 prefetch defer
.in fp32 0x125c0 0 22 16 pitch=200 mem_pitch=20
.in fp32 0x15000 960 29 16 pitch=200 mem_pitch=20
.out fp32 0x19ebc 2636 5 32 pitch=244 mem_pitch=36
.step p14 prefetch defer
.in fp32 0x12600 480 22 16 pitch=200 mem_pitch=20
.in fp32 0x15040 1600 29 16 pitch=200 mem_pitch=20
.out fp32 0x1a380 2816 6 32 pitch=244 mem_pitch=36
.step p15 prefetch
.fill 0.0 2 24 2 mem_pitch=4
.fill 0.0 88 2 4 mem_pitch=4
.in fp32 0x12640 0 22 2 pitch=200 mem_pitch=4
.fill 0.0 962 32 2 mem_pitch=4
.fill 0.0 1076 3 4 mem_pitch=4
.in fp32 0x15080 960 29 2 pitch=200 mem_pitch=4
.out fp32 0x194c0 3104 22 29 pitch=244 mem_pitch=36
.step p16 defer
.in fp32 0x16680 0 70 12 pitch=244 mem_pitch=12
.in fp32 0x1a940 864 1 12 pitch=244 mem_pitch=12
.out fp32 0x16680 912 70 12 pitch=244 mem_pitch=12
.step p17 prefetch defer
.in fp32 0x166b0 1776 70 12 pitch=244 mem_pitch=12
.in fp32 0x1a970 2640 1 12 pitch=244 mem_pitch=12
.out fp32 0x166b0 2688 70 12 pitch=244 mem_pitch=12
.step p16 prefetch defer
.in fp32 0x166e0 0 70 12 pitch=244 mem_pitch=12
.in fp32 0x1a9a0 864 1 12 pitch=244 mem_pitch=12
.out fp32 0x166e0 912 70 12 pitch=244 mem_pitch=12
.step p17 prefetch defer
.in fp32 0x16710 1776 70 12 pitch=244 mem_pitch=12
.in fp32 0x1a9d0 2640 1 12 pitch=244 mem_pitch=12
.out fp32 0x16710 2688 70 12 pitch=244 mem_pitch=12
.step p16 prefetch defer
.in fp32 0x16740 0 70 12 pitch=244 mem_pitch=12
.in fp32 0x1aa00 864 1 12 pitch=244 mem_pitch=12
.out fp32 0x16740 912 70 12 pitch=244 mem_pitch=12
.step p18 prefetch
.in fp32 0x16770 1776 70 1 pitch=244 mem_pitch=4
.in fp32 0x1aa30 2640 1 1 pitch=244 mem_pitch=4
.out fp32 0x16770 2688 70 1 pitch=244 mem_pitch=4
