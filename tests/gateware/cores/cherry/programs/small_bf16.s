.program p0
.needs contexts=1
.loop l0 2
.loop l1 4
.loop l2 1
.loop l3 1
.apu a0 240 1 20 l1:4
.apu a1 672 1 12 l0:4 l1:48 l3:4
.loop l4 1
.loop l5 2
.loop l6 3
.apu a2 320 1 20 l5:80
.apu a3 672 1 12 l0:4 l4:4
.apu a4 864 1 12 l0:4 l5:48 l4:4
.apu a5 324 1 20 l5:80 l6:4
.apu a6 720 1 12 l0:4 l6:48 l3:4
.apu a7 960 1 12 l0:4 l2:4
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
.needs contexts=1
.loop l0 4
.loop l1 1
.loop l2 1
.apu a0 240 1 20 l0:4
.apu a1 480 1 4 l0:16 l2:4
.loop l3 1
.loop l4 2
.loop l5 3
.apu a2 320 1 20 l4:80
.apu a3 480 1 4 l3:4
.apu a4 1008 1 4 l4:16 l3:4
.apu a5 324 1 20 l4:80 l5:4
.apu a6 496 1 4 l5:16 l2:4
.apu a7 1040 1 4 l1:4
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
.program p2
.needs contexts=1
.loop l0 2
.loop l1 4
.loop l2 1
.loop l3 1
.apu a0 0 1 20 l1:4
.apu a1 672 1 12 l0:4 l1:48 l3:4
.loop l4 1
.loop l5 3
.apu a2 80 1 20
.apu a3 672 1 12 l0:4 l4:4
.apu a4 864 1 12 l0:4 l4:4
.apu a5 84 1 20 l5:4
.apu a6 720 1 12 l0:4 l5:48 l3:4
.apu a7 912 1 12 l0:4 l2:4
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
  start_independent_loop l4
    load a2, INPUT
    load a3, WEIGHTS
    store a4, ACC
    zero ACC
    matmul
  end_loop l4
  start_loop l5
    start_independent_loop l3
      load a5, INPUT
      load a6, WEIGHTS
      matmul
    end_loop l3
  end_loop l5
  start_independent_loop l2
    store a7, ACC
  end_loop l2
end_loop l0
.program p3
.needs contexts=1
.loop l0 4
.loop l1 1
.loop l2 1
.apu a0 0 1 20 l0:4
.apu a1 480 1 4 l0:16 l2:4
.loop l3 1
.loop l4 3
.apu a2 80 1 20
.apu a3 480 1 4 l3:4
.apu a4 1008 1 4 l3:4
.apu a5 84 1 20 l4:4
.apu a6 496 1 4 l4:16 l2:4
.apu a7 1024 1 4 l1:4
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
start_independent_loop l3
  load a2, INPUT
  load a3, WEIGHTS
  store a4, ACC
  zero ACC
  matmul
end_loop l3
start_loop l4
  start_independent_loop l2
    load a5, INPUT
    load a6, WEIGHTS
    matmul
  end_loop l2
end_loop l4
start_independent_loop l1
  store a7, ACC
end_loop l1
.program p4
.loop l0 3
.loop l1 5
.apu a0 0 1 12 l1:48 l0:4
.apu a1 240 1 12 l1:48 l0:4
.apu a2 480 1 12 l1:48 l0:4
start_loop l0
  start_independent_loop l1
    load a0, INPUT
    load a1, WEIGHTS
    add
    store a2, OUTPUT
  end_loop l1
end_loop l0
.step p0 defer
.fill 0.0 254 12 2 mem_pitch=20
.in bf16 0x10000 240 12 14 pitch=28 mem_pitch=20
.fill 0.0 840 2 8 mem_pitch=12
.in bf16 0x10200 672 14 8 pitch=24 mem_pitch=12
.out bf16 0x10380 864 12 8 pitch=24 mem_pitch=12
.step p1 prefetch defer
.fill 0.0 483 16 1 mem_pitch=4
.fill 0.0 536 2 4 mem_pitch=4
.in bf16 0x10210 480 14 3 pitch=24 mem_pitch=4
.out bf16 0x10390 1008 12 3 pitch=24 mem_pitch=4
.step p2 prefetch defer
.fill 0.0 14 8 2 mem_pitch=20
.fill 0.0 120 2 16 mem_pitch=20
.in bf16 0x10150 0 6 14 pitch=28 mem_pitch=20
.fill 0.0 840 2 8 mem_pitch=12
.in bf16 0x10200 672 14 8 pitch=24 mem_pitch=12
.out bf16 0x104a0 864 6 8 pitch=24 mem_pitch=12
.step p3 prefetch
.fill 0.0 483 16 1 mem_pitch=4
.fill 0.0 536 2 4 mem_pitch=4
.in bf16 0x10210 480 14 3 pitch=24 mem_pitch=4
.out bf16 0x104b0 1008 6 3 pitch=24 mem_pitch=4
.step p4
.in bf16 0x10380 0 18 11 pitch=24 mem_pitch=12
.in bf16 0x10540 240 18 11 pitch=24 mem_pitch=12
.out bf16 0x10380 480 18 11 pitch=24 mem_pitch=12
