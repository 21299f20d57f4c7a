.program p0
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 832 1 52 l0:4
.apu a1 2496 52 1 l0:4 l2:208
.loop l3 4
.loop l4 3
.loop l5 12
.apu a2 1040 1 52 l4:208
.apu a3 2496 52 1 l3:208
.apu a4 3328 1 20 l4:80 l3:4
.apu a5 1044 1 52 l4:208 l5:4
.apu a6 2500 52 1 l5:4 l2:208
.apu a7 3568 1 20 l1:4
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
.program p1
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 832 1 52 l0:4
.apu a1 1664 52 1 l0:4 l2:208
.loop l3 4
.loop l4 3
.loop l5 12
.apu a2 1040 1 52 l4:208
.apu a3 1664 52 1 l3:208
.apu a4 3648 1 20 l4:80 l3:4
.apu a5 1044 1 52 l4:208 l5:4
.apu a6 1668 52 1 l5:4 l2:208
.apu a7 3888 1 20 l1:4
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
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 832 1 52 l0:4
.apu a1 1664 52 1 l0:4 l2:208
.loop l3 4
.loop l4 3
.loop l5 12
.apu a2 1040 1 52 l4:208
.apu a3 1664 52 1 l3:208
.apu a4 3648 1 20 l4:80 l3:4
.apu a5 1044 1 52 l4:208 l5:4
.apu a6 1668 52 1 l5:4 l2:208
.apu a7 3888 1 20 l1:4
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
.program p3
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 0 1 52 l0:4
.apu a1 2496 52 1 l0:4 l2:208
.loop l3 4
.loop l4 3
.loop l5 12
.apu a2 208 1 52 l4:208
.apu a3 2496 52 1 l3:208
.apu a4 3328 1 20 l4:80 l3:4
.apu a5 212 1 52 l4:208 l5:4
.apu a6 2500 52 1 l5:4 l2:208
.apu a7 3568 1 20 l1:4
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
.program p4
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 0 1 52 l0:4
.apu a1 1664 52 1 l0:4 l2:208
.loop l3 4
.loop l4 3
.loop l5 12
.apu a2 208 1 52 l4:208
.apu a3 1664 52 1 l3:208
.apu a4 3648 1 20 l4:80 l3:4
.apu a5 212 1 52 l4:208 l5:4
.apu a6 1668 52 1 l5:4 l2:208
.apu a7 3888 1 20 l1:4
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
.program p5
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 0 1 52 l0:4
.apu a1 1664 52 1 l0:4 l2:208
.loop l3 4
.loop l4 3
.loop l5 12
.apu a2 208 1 52 l4:208
.apu a3 1664 52 1 l3:208
.apu a4 3648 1 20 l4:80 l3:4
.apu a5 212 1 52 l4:208 l5:4
.apu a6 1668 52 1 l5:4 l2:208
.apu a7 3888 1 20 l1:4
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
.program p6
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 832 1 52 l0:4
.apu a1 2496 52 1 l0:4 l2:208
.loop l3 4
.loop l4 12
.apu a2 1040 1 52
.apu a3 2496 52 1 l3:208
.apu a4 3328 1 20 l3:4
.apu a5 1044 1 52 l4:4
.apu a6 2500 52 1 l4:4 l2:208
.apu a7 3408 1 20 l1:4
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
.program p7
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 832 1 52 l0:4
.apu a1 1664 52 1 l0:4 l2:208
.loop l3 4
.loop l4 12
.apu a2 1040 1 52
.apu a3 1664 52 1 l3:208
.apu a4 3648 1 20 l3:4
.apu a5 1044 1 52 l4:4
.apu a6 1668 52 1 l4:4 l2:208
.apu a7 3728 1 20 l1:4
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
.program p8
.needs contexts=4
.loop l0 13
.loop l1 4
.loop l2 4
.apu a0 832 1 52 l0:4
.apu a1 1664 52 1 l0:4 l2:208
.loop l3 4
.loop l4 12
.apu a2 1040 1 52
.apu a3 1664 52 1 l3:208
.apu a4 3648 1 20 l3:4
.apu a5 1044 1 52 l4:4
.apu a6 1668 52 1 l4:4 l2:208
.apu a7 3728 1 20 l1:4
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
.program p9
.needs contexts=4
.loop l0 3
.loop l1 3
.loop l2 4
.loop l3 4
.loop l4 4
.apu a0 0 1 20 l2:80 l0:320
.apu a1 960 1 0
.apu a2 4 1 20 l3:80 l0:320 l1:4
.apu a3 964 1 0 l1:4
.apu a4 1040 1 20 l3:80 l0:320 l1:4
.apu a5 1052 1 20 l4:80 l0:320
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
.program p10
.needs contexts=4
.loop l0 3
.loop l1 3
.loop l2 4
.loop l3 4
.loop l4 4
.apu a0 2000 1 20 l2:80 l0:320
.apu a1 2960 1 0
.apu a2 2004 1 20 l3:80 l0:320 l1:4
.apu a3 2964 1 0 l1:4
.apu a4 3040 1 20 l3:80 l0:320 l1:4
.apu a5 3052 1 20 l4:80 l0:320
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
.program p11
.needs contexts=4
.loop l0 3
.loop l1 3
.loop l2 4
.loop l3 4
.loop l4 4
.apu a0 2000 1 20 l2:80 l0:320
.apu a1 2960 1 0
.apu a2 2004 1 20 l3:80 l0:320 l1:4
.apu a3 2964 1 0 l1:4
.apu a4 3040 1 20 l3:80 l0:320 l1:4
.apu a5 3052 1 20 l4:80 l0:320
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
.program p12
.needs contexts=3
.loop l0 2
.loop l1 3
.loop l2 3
.loop l3 3
.loop l4 3
.apu a0 0 1 20 l2:80 l0:240
.apu a1 960 1 0
.apu a2 4 1 20 l3:80 l0:240 l1:4
.apu a3 964 1 0 l1:4
.apu a4 1040 1 20 l3:80 l0:240 l1:4
.apu a5 1052 1 20 l4:80 l0:240
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
.program p13
.needs contexts=3
.loop l0 2
.loop l1 3
.loop l2 3
.loop l3 3
.loop l4 3
.apu a0 2000 1 20 l2:80 l0:240
.apu a1 2960 1 0
.apu a2 2004 1 20 l3:80 l0:240 l1:4
.apu a3 2964 1 0 l1:4
.apu a4 3040 1 20 l3:80 l0:240 l1:4
.apu a5 3052 1 20 l4:80 l0:240
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
.program p14
.needs contexts=3
.loop l0 2
.loop l1 3
.loop l2 3
.loop l3 3
.loop l4 3
.apu a0 2000 1 20 l2:80 l0:240
.apu a1 2960 1 0
.apu a2 2004 1 20 l3:80 l0:240 l1:4
.apu a3 2964 1 0 l1:4
.apu a4 3040 1 20 l3:80 l0:240 l1:4
.apu a5 3052 1 20 l4:80 l0:240
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
.step p0 defer
.fill 0.0 882 16 2 mem_pitch=52
.in packed 0x10000 832 16 50 pitch=116 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x11fc0 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x13b80 3328 16 16 pitch=140 mem_pitch=20
.step p1 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in packed 0x12700 1664 16 50 pitch=116 mem_pitch=52
.out packed 0x13ba4 3648 16 16 pitch=140 mem_pitch=20
.step p0 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x12e40 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x13bc8 3328 16 16 pitch=140 mem_pitch=20
.step p2 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in packed 0x13580 1664 13 50 pitch=116 mem_pitch=52
.out packed 0x13bec 3648 16 13 pitch=140 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 50 16 2 mem_pitch=52
.in packed 0x10740 0 16 50 pitch=116 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x11fc0 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x14440 3328 16 16 pitch=140 mem_pitch=20
.step p4 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in packed 0x12700 1664 16 50 pitch=116 mem_pitch=52
.out packed 0x14464 3648 16 16 pitch=140 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x12e40 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x14488 3328 16 16 pitch=140 mem_pitch=20
.step p5 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in packed 0x13580 1664 13 50 pitch=116 mem_pitch=52
.out packed 0x144ac 3648 16 13 pitch=140 mem_pitch=20
.step p0 prefetch defer
.fill 0.0 882 16 2 mem_pitch=52
.in packed 0x10e80 832 16 50 pitch=116 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x11fc0 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x14d00 3328 16 16 pitch=140 mem_pitch=20
.step p1 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in packed 0x12700 1664 16 50 pitch=116 mem_pitch=52
.out packed 0x14d24 3648 16 16 pitch=140 mem_pitch=20
.step p0 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x12e40 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x14d48 3328 16 16 pitch=140 mem_pitch=20
.step p2 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in packed 0x13580 1664 13 50 pitch=116 mem_pitch=52
.out packed 0x14d6c 3648 16 13 pitch=140 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 50 16 2 mem_pitch=52
.in packed 0x115c0 0 16 50 pitch=116 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x11fc0 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x155c0 3328 16 16 pitch=140 mem_pitch=20
.step p4 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in packed 0x12700 1664 16 50 pitch=116 mem_pitch=52
.out packed 0x155e4 3648 16 16 pitch=140 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x12e40 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x15608 3328 16 16 pitch=140 mem_pitch=20
.step p5 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in packed 0x13580 1664 13 50 pitch=116 mem_pitch=52
.out packed 0x1562c 3648 16 13 pitch=140 mem_pitch=20
.step p6 prefetch defer
.fill 0.0 882 8 2 mem_pitch=52
.fill 0.0 1144 2 52 mem_pitch=52
.in packed 0x11d00 832 6 50 pitch=116 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x11fc0 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x15e80 3328 6 16 pitch=140 mem_pitch=20
.step p7 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in packed 0x12700 1664 16 50 pitch=116 mem_pitch=52
.out packed 0x15ea4 3648 6 16 pitch=140 mem_pitch=20
.step p6 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in packed 0x12e40 2496 16 50 pitch=116 mem_pitch=52
.out packed 0x15ec8 3328 6 16 pitch=140 mem_pitch=20
.step p8 prefetch
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in packed 0x13580 1664 13 50 pitch=116 mem_pitch=52
.out packed 0x15eec 3648 6 13 pitch=140 mem_pitch=20
.step p9 defer
.in packed 0x13b80 0 48 16 pitch=140 mem_pitch=20
.in packed 0x16200 960 1 16 pitch=140 mem_pitch=20
.out packed 0x13b80 1040 48 16 pitch=140 mem_pitch=20
.step p10 prefetch defer
.in packed 0x13ba4 2000 48 16 pitch=140 mem_pitch=20
.in packed 0x16224 2960 1 16 pitch=140 mem_pitch=20
.out packed 0x13ba4 3040 48 16 pitch=140 mem_pitch=20
.step p9 prefetch defer
.in packed 0x13bc8 0 48 16 pitch=140 mem_pitch=20
.in packed 0x16248 960 1 16 pitch=140 mem_pitch=20
.out packed 0x13bc8 1040 48 16 pitch=140 mem_pitch=20
.step p11 prefetch defer
.in packed 0x13bec 2000 48 13 pitch=140 mem_pitch=20
.in packed 0x1626c 2960 1 13 pitch=140 mem_pitch=20
.out packed 0x13bec 3040 48 13 pitch=140 mem_pitch=20
.step p12 prefetch defer
.in packed 0x155c0 0 22 16 pitch=140 mem_pitch=20
.in packed 0x16200 960 1 16 pitch=140 mem_pitch=20
.out packed 0x155c0 1040 22 16 pitch=140 mem_pitch=20
.step p13 prefetch defer
.in packed 0x155e4 2000 22 16 pitch=140 mem_pitch=20
.in packed 0x16224 2960 1 16 pitch=140 mem_pitch=20
.out packed 0x155e4 3040 22 16 pitch=140 mem_pitch=20
.step p12 prefetch defer
.in packed 0x15608 0 22 16 pitch=140 mem_pitch=20
.in packed 0x16248 960 1 16 pitch=140 mem_pitch=20
.out packed 0x15608 1040 22 16 pitch=140 mem_pitch=20
.step p14 prefetch
.in packed 0x1562c 2000 22 13 pitch=140 mem_pitch=20
.in packed 0x1626c 2960 1 13 pitch=140 mem_pitch=20
.out packed 0x1562c 3040 22 13 pitch=140 mem_pitch=20
