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
.program p10
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
.program p11
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
.fill 0.0 882 16 2 mem_pitch=52
.in bf16 0x10000 832 16 50 pitch=100 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x11b80 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x13380 3328 16 16 pitch=124 mem_pitch=20
.step p1 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in bf16 0x121c0 1664 16 50 pitch=100 mem_pitch=52
.out bf16 0x133a0 3648 16 16 pitch=124 mem_pitch=20
.step p0 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x12800 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x133c0 3328 16 16 pitch=124 mem_pitch=20
.step p2 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in bf16 0x12e40 1664 13 50 pitch=100 mem_pitch=52
.out bf16 0x133e0 3648 16 13 pitch=124 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 50 16 2 mem_pitch=52
.in bf16 0x10640 0 16 50 pitch=100 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x11b80 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x13b40 3328 16 16 pitch=124 mem_pitch=20
.step p4 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in bf16 0x121c0 1664 16 50 pitch=100 mem_pitch=52
.out bf16 0x13b60 3648 16 16 pitch=124 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x12800 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x13b80 3328 16 16 pitch=124 mem_pitch=20
.step p5 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in bf16 0x12e40 1664 13 50 pitch=100 mem_pitch=52
.out bf16 0x13ba0 3648 16 13 pitch=124 mem_pitch=20
.step p0 prefetch defer
.fill 0.0 882 16 2 mem_pitch=52
.in bf16 0x10c80 832 16 50 pitch=100 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x11b80 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x14300 3328 16 16 pitch=124 mem_pitch=20
.step p1 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in bf16 0x121c0 1664 16 50 pitch=100 mem_pitch=52
.out bf16 0x14320 3648 16 16 pitch=124 mem_pitch=20
.step p0 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x12800 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x14340 3328 16 16 pitch=124 mem_pitch=20
.step p2 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in bf16 0x12e40 1664 13 50 pitch=100 mem_pitch=52
.out bf16 0x14360 3648 16 13 pitch=124 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 50 16 2 mem_pitch=52
.in bf16 0x112c0 0 16 50 pitch=100 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x11b80 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x14ac0 3328 16 16 pitch=124 mem_pitch=20
.step p4 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in bf16 0x121c0 1664 16 50 pitch=100 mem_pitch=52
.out bf16 0x14ae0 3648 16 16 pitch=124 mem_pitch=20
.step p3 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x12800 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x14b00 3328 16 16 pitch=124 mem_pitch=20
.step p5 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in bf16 0x12e40 1664 13 50 pitch=100 mem_pitch=52
.out bf16 0x14b20 3648 16 13 pitch=124 mem_pitch=20
.step p6 prefetch defer
.fill 0.0 882 8 2 mem_pitch=52
.fill 0.0 1144 2 52 mem_pitch=52
.in bf16 0x11900 832 6 50 pitch=100 mem_pitch=52
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x11b80 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x15280 3328 6 16 pitch=124 mem_pitch=20
.step p7 prefetch defer
.fill 0.0 1714 16 2 mem_pitch=52
.in bf16 0x121c0 1664 16 50 pitch=100 mem_pitch=52
.out bf16 0x152a0 3648 6 16 pitch=124 mem_pitch=20
.step p6 prefetch defer
.fill 0.0 2546 16 2 mem_pitch=52
.in bf16 0x12800 2496 16 50 pitch=100 mem_pitch=52
.out bf16 0x152c0 3328 6 16 pitch=124 mem_pitch=20
.step p8 prefetch
.fill 0.0 1714 16 2 mem_pitch=52
.fill 0.0 2340 3 52 mem_pitch=52
.in bf16 0x12e40 1664 13 50 pitch=100 mem_pitch=52
.out bf16 0x152e0 3648 6 13 pitch=124 mem_pitch=20
.step p9 defer
.in bf16 0x13380 0 70 12 pitch=124 mem_pitch=12
.in bf16 0x15580 864 1 12 pitch=124 mem_pitch=12
.out bf16 0x13380 912 70 12 pitch=124 mem_pitch=12
.step p10 prefetch defer
.in bf16 0x13398 1776 70 12 pitch=124 mem_pitch=12
.in bf16 0x15598 2640 1 12 pitch=124 mem_pitch=12
.out bf16 0x13398 2688 70 12 pitch=124 mem_pitch=12
.step p9 prefetch defer
.in bf16 0x133b0 0 70 12 pitch=124 mem_pitch=12
.in bf16 0x155b0 864 1 12 pitch=124 mem_pitch=12
.out bf16 0x133b0 912 70 12 pitch=124 mem_pitch=12
.step p10 prefetch defer
.in bf16 0x133c8 1776 70 12 pitch=124 mem_pitch=12
.in bf16 0x155c8 2640 1 12 pitch=124 mem_pitch=12
.out bf16 0x133c8 2688 70 12 pitch=124 mem_pitch=12
.step p9 prefetch defer
.in bf16 0x133e0 0 70 12 pitch=124 mem_pitch=12
.in bf16 0x155e0 864 1 12 pitch=124 mem_pitch=12
.out bf16 0x133e0 912 70 12 pitch=124 mem_pitch=12
.step p11 prefetch
.in bf16 0x133f8 1776 70 1 pitch=124 mem_pitch=4
.in bf16 0x155f8 2640 1 1 pitch=124 mem_pitch=4
.out bf16 0x133f8 2688 70 1 pitch=124 mem_pitch=4
