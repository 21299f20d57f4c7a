; Product of two matrices of 256 x 256 in main memory, fp32, block by block: a at 0x100000, b at 0x140000.
.program p0
.needs contexts=16
.loop l0 2
.loop l1 7
.loop l2 16
.loop l3 16
.apu a0 3584 1 28 l1:4
.apu a1 10864 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 31
.loop l6 6
.apu a2 3696 1 28 l5:112
.apu a3 10864 1 132 l0:64 l4:4
.apu a4 14560 1 132 l0:64 l5:528 l4:4
.apu a5 3700 1 28 l5:112 l6:4
.apu a6 11392 1 132 l0:64 l6:528 l3:4
.apu a7 30928 1 132 l0:64 l2:4
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
.needs contexts=16
.loop l0 2
.loop l1 7
.loop l2 16
.loop l3 16
.apu a0 14560 1 132 l0:64 l2:4
.apu a1 0 1 28 l1:4
.apu a2 7168 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 31
.loop l6 6
.apu a3 112 1 28 l5:112
.apu a4 7168 1 132 l0:64 l4:4
.apu a5 14560 1 132 l0:64 l5:528 l4:4
.apu a6 15088 1 132 l0:64 l5:528 l4:4
.apu a7 116 1 28 l5:112 l6:4
.apu a8 7696 1 132 l0:64 l6:528 l3:4
.apu a9 30928 1 132 l0:64 l2:4
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
.needs contexts=16
.loop l0 2
.loop l1 7
.loop l2 16
.loop l3 16
.apu a0 14560 1 132 l0:64 l2:4
.apu a1 3584 1 28 l1:4
.apu a2 10864 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 31
.loop l6 6
.apu a3 3696 1 28 l5:112
.apu a4 10864 1 132 l0:64 l4:4
.apu a5 14560 1 132 l0:64 l5:528 l4:4
.apu a6 15088 1 132 l0:64 l5:528 l4:4
.apu a7 3700 1 28 l5:112 l6:4
.apu a8 11392 1 132 l0:64 l6:528 l3:4
.apu a9 30928 1 132 l0:64 l2:4
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
.needs contexts=16
.loop l0 2
.loop l1 16
.loop l2 16
.apu a0 14560 1 132 l0:64 l1:4
.apu a1 0 1 4
.apu a2 7168 1 132 l0:64 l2:4
.loop l3 16
.loop l4 31
.apu a3 16 1 4 l4:16
.apu a4 7168 1 132 l0:64 l3:4
.apu a5 14560 1 132 l0:64 l4:528 l3:4
.apu a6 15088 1 132 l0:64 l4:528 l3:4
.apu a7 30928 1 132 l0:64 l1:4
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
.needs contexts=16
.loop l0 2
.loop l1 7
.loop l2 16
.loop l3 16
.apu a0 3584 1 28 l1:4
.apu a1 10864 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 31
.loop l6 6
.apu a2 3696 1 28 l5:112
.apu a3 10864 1 132 l0:64 l4:4
.apu a4 31456 1 132 l0:64 l5:528 l4:4
.apu a5 3700 1 28 l5:112 l6:4
.apu a6 11392 1 132 l0:64 l6:528 l3:4
.apu a7 47824 1 132 l0:64 l2:4
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
.needs contexts=16
.loop l0 2
.loop l1 7
.loop l2 16
.loop l3 16
.apu a0 31456 1 132 l0:64 l2:4
.apu a1 0 1 28 l1:4
.apu a2 7168 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 31
.loop l6 6
.apu a3 112 1 28 l5:112
.apu a4 7168 1 132 l0:64 l4:4
.apu a5 31456 1 132 l0:64 l5:528 l4:4
.apu a6 31984 1 132 l0:64 l5:528 l4:4
.apu a7 116 1 28 l5:112 l6:4
.apu a8 7696 1 132 l0:64 l6:528 l3:4
.apu a9 47824 1 132 l0:64 l2:4
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
.needs contexts=16
.loop l0 2
.loop l1 7
.loop l2 16
.loop l3 16
.apu a0 31456 1 132 l0:64 l2:4
.apu a1 3584 1 28 l1:4
.apu a2 10864 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 31
.loop l6 6
.apu a3 3696 1 28 l5:112
.apu a4 10864 1 132 l0:64 l4:4
.apu a5 31456 1 132 l0:64 l5:528 l4:4
.apu a6 31984 1 132 l0:64 l5:528 l4:4
.apu a7 3700 1 28 l5:112 l6:4
.apu a8 11392 1 132 l0:64 l6:528 l3:4
.apu a9 47824 1 132 l0:64 l2:4
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
.needs contexts=16
.loop l0 2
.loop l1 16
.loop l2 16
.apu a0 31456 1 132 l0:64 l1:4
.apu a1 0 1 4
.apu a2 7168 1 132 l0:64 l2:4
.loop l3 16
.loop l4 31
.apu a3 16 1 4 l4:16
.apu a4 7168 1 132 l0:64 l3:4
.apu a5 31456 1 132 l0:64 l4:528 l3:4
.apu a6 31984 1 132 l0:64 l4:528 l3:4
.apu a7 47824 1 132 l0:64 l1:4
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
.step p0 defer
.in fp32 0x100000 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x140000 10864 28 128 pitch=1024 mem_pitch=132
.step p1 prefetch defer
.in fp32 0x100070 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x147000 7168 28 128 pitch=1024 mem_pitch=132
.step p2 prefetch defer
.in fp32 0x1000e0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x14e000 10864 28 128 pitch=1024 mem_pitch=132
.step p1 prefetch defer
.in fp32 0x100150 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x155000 7168 28 128 pitch=1024 mem_pitch=132
.step p2 prefetch defer
.in fp32 0x1001c0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x15c000 10864 28 128 pitch=1024 mem_pitch=132
.step p1 prefetch defer
.in fp32 0x100230 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x163000 7168 28 128 pitch=1024 mem_pitch=132
.step p2 prefetch defer
.in fp32 0x1002a0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x16a000 10864 28 128 pitch=1024 mem_pitch=132
.step p1 prefetch defer
.in fp32 0x100310 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x171000 7168 28 128 pitch=1024 mem_pitch=132
.step p2 prefetch defer
.in fp32 0x100380 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x178000 10864 28 128 pitch=1024 mem_pitch=132
.step p3 prefetch defer
.in fp32 0x1003f0 0 128 4 pitch=1024 mem_pitch=4
.in fp32 0x17f000 7168 4 128 pitch=1024 mem_pitch=132
.out fp32 0x180000 14560 12 128 pitch=1024 mem_pitch=132
.step p4 prefetch defer
.in fp32 0x100000 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x140200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x183000 16144 13 128 pitch=1024 mem_pitch=132
.step p5 prefetch defer
.in fp32 0x100070 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x147200 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x186400 17860 13 128 pitch=1024 mem_pitch=132
.step p6 prefetch defer
.in fp32 0x1000e0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x14e200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x189800 19576 13 128 pitch=1024 mem_pitch=132
.step p5 prefetch defer
.in fp32 0x100150 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x155200 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x18cc00 21292 13 128 pitch=1024 mem_pitch=132
.step p6 prefetch defer
.in fp32 0x1001c0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x15c200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x190000 23008 12 128 pitch=1024 mem_pitch=132
.step p5 prefetch defer
.in fp32 0x100230 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x163200 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x193000 24592 13 128 pitch=1024 mem_pitch=132
.step p6 prefetch defer
.in fp32 0x1002a0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x16a200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x196400 26308 13 128 pitch=1024 mem_pitch=132
.step p5 prefetch defer
.in fp32 0x100310 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x171200 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x199800 28024 13 128 pitch=1024 mem_pitch=132
.step p6 prefetch defer
.in fp32 0x100380 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x178200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x19cc00 29740 13 128 pitch=1024 mem_pitch=132
.step p7 prefetch defer
.in fp32 0x1003f0 0 128 4 pitch=1024 mem_pitch=4
.in fp32 0x17f200 7168 4 128 pitch=1024 mem_pitch=132
.out fp32 0x180200 31456 12 128 pitch=1024 mem_pitch=132
.step p0 prefetch defer
.in fp32 0x120000 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x140000 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x183200 33040 13 128 pitch=1024 mem_pitch=132
.step p1 prefetch defer
.in fp32 0x120070 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x147000 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x186600 34756 13 128 pitch=1024 mem_pitch=132
.step p2 prefetch defer
.in fp32 0x1200e0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x14e000 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x189a00 36472 13 128 pitch=1024 mem_pitch=132
.step p1 prefetch defer
.in fp32 0x120150 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x155000 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x18ce00 38188 13 128 pitch=1024 mem_pitch=132
.step p2 prefetch defer
.in fp32 0x1201c0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x15c000 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x190200 39904 12 128 pitch=1024 mem_pitch=132
.step p1 prefetch defer
.in fp32 0x120230 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x163000 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x193200 41488 13 128 pitch=1024 mem_pitch=132
.step p2 prefetch defer
.in fp32 0x1202a0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x16a000 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x196600 43204 13 128 pitch=1024 mem_pitch=132
.step p1 prefetch defer
.in fp32 0x120310 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x171000 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x199a00 44920 13 128 pitch=1024 mem_pitch=132
.step p2 prefetch defer
.in fp32 0x120380 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x178000 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x19ce00 46636 13 128 pitch=1024 mem_pitch=132
.step p3 prefetch defer
.in fp32 0x1203f0 0 128 4 pitch=1024 mem_pitch=4
.in fp32 0x17f000 7168 4 128 pitch=1024 mem_pitch=132
.out fp32 0x1a0000 14560 12 128 pitch=1024 mem_pitch=132
.step p4 prefetch defer
.in fp32 0x120000 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x140200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1a3000 16144 13 128 pitch=1024 mem_pitch=132
.step p5 prefetch defer
.in fp32 0x120070 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x147200 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1a6400 17860 13 128 pitch=1024 mem_pitch=132
.step p6 prefetch defer
.in fp32 0x1200e0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x14e200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1a9800 19576 13 128 pitch=1024 mem_pitch=132
.step p5 prefetch defer
.in fp32 0x120150 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x155200 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1acc00 21292 13 128 pitch=1024 mem_pitch=132
.step p6 prefetch defer
.in fp32 0x1201c0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x15c200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1b0000 23008 12 128 pitch=1024 mem_pitch=132
.step p5 prefetch defer
.in fp32 0x120230 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x163200 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1b3000 24592 13 128 pitch=1024 mem_pitch=132
.step p6 prefetch defer
.in fp32 0x1202a0 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x16a200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1b6400 26308 13 128 pitch=1024 mem_pitch=132
.step p5 prefetch defer
.in fp32 0x120310 0 128 28 pitch=1024 mem_pitch=28
.in fp32 0x171200 7168 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1b9800 28024 13 128 pitch=1024 mem_pitch=132
.step p6 prefetch defer
.in fp32 0x120380 3584 128 28 pitch=1024 mem_pitch=28
.in fp32 0x178200 10864 28 128 pitch=1024 mem_pitch=132
.out fp32 0x1bcc00 29740 13 128 pitch=1024 mem_pitch=132
.step p7 prefetch
.in fp32 0x1203f0 0 128 4 pitch=1024 mem_pitch=4
.in fp32 0x17f200 7168 4 128 pitch=1024 mem_pitch=132
.out fp32 0x1a0200 31456 128 128 pitch=1024 mem_pitch=132
