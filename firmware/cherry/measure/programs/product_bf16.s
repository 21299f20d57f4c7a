; Product of two matrices of 256 x 256 in main memory, bf16, block by block: a at 0x100000, b at 0x120000.
.program p0
.needs contexts=16
.loop l0 2
.loop l1 22
.loop l2 16
.loop l3 16
.apu a0 5888 1 92 l1:4
.apu a1 23392 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 21
.apu a2 6256 1 92 l5:368
.apu a3 23392 1 132 l0:64 l4:4
.apu a4 35008 1 132 l0:64 l5:528 l4:4
.apu a5 6260 1 92 l5:368 l6:4
.apu a6 23920 1 132 l0:64 l6:528 l3:4
.apu a7 42928 1 132 l0:64 l2:4
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
.loop l1 22
.loop l2 16
.loop l3 16
.apu a0 35008 1 132 l0:64 l2:4
.apu a1 0 1 92 l1:4
.apu a2 11776 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 21
.apu a3 368 1 92 l5:368
.apu a4 11776 1 132 l0:64 l4:4
.apu a5 35008 1 132 l0:64 l5:528 l4:4
.apu a6 35536 1 132 l0:64 l5:528 l4:4
.apu a7 372 1 92 l5:368 l6:4
.apu a8 12304 1 132 l0:64 l6:528 l3:4
.apu a9 42928 1 132 l0:64 l2:4
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
.loop l1 20
.loop l2 16
.loop l3 16
.apu a0 35008 1 132 l0:64 l2:4
.apu a1 5888 1 84 l1:4
.apu a2 23392 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 19
.apu a3 6224 1 84 l5:336
.apu a4 23392 1 132 l0:64 l4:4
.apu a5 35008 1 132 l0:64 l5:528 l4:4
.apu a6 35536 1 132 l0:64 l5:528 l4:4
.apu a7 6228 1 84 l5:336 l6:4
.apu a8 23920 1 132 l0:64 l6:528 l3:4
.apu a9 42928 1 132 l0:64 l2:4
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
.loop l1 22
.loop l2 16
.loop l3 16
.apu a0 0 1 92 l1:4
.apu a1 11776 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 21
.apu a2 368 1 92 l5:368
.apu a3 11776 1 132 l0:64 l4:4
.apu a4 43456 1 132 l0:64 l5:528 l4:4
.apu a5 372 1 92 l5:368 l6:4
.apu a6 12304 1 132 l0:64 l6:528 l3:4
.apu a7 51376 1 132 l0:64 l2:4
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
.program p4
.needs contexts=16
.loop l0 2
.loop l1 22
.loop l2 16
.loop l3 16
.apu a0 43456 1 132 l0:64 l2:4
.apu a1 5888 1 92 l1:4
.apu a2 23392 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 21
.apu a3 6256 1 92 l5:368
.apu a4 23392 1 132 l0:64 l4:4
.apu a5 43456 1 132 l0:64 l5:528 l4:4
.apu a6 43984 1 132 l0:64 l5:528 l4:4
.apu a7 6260 1 92 l5:368 l6:4
.apu a8 23920 1 132 l0:64 l6:528 l3:4
.apu a9 51376 1 132 l0:64 l2:4
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
.program p5
.needs contexts=16
.loop l0 2
.loop l1 20
.loop l2 16
.loop l3 16
.apu a0 43456 1 132 l0:64 l2:4
.apu a1 0 1 84 l1:4
.apu a2 11776 1 132 l0:64 l1:528 l3:4
.loop l4 16
.loop l5 15
.loop l6 19
.apu a3 336 1 84 l5:336
.apu a4 11776 1 132 l0:64 l4:4
.apu a5 43456 1 132 l0:64 l5:528 l4:4
.apu a6 43984 1 132 l0:64 l5:528 l4:4
.apu a7 340 1 84 l5:336 l6:4
.apu a8 12304 1 132 l0:64 l6:528 l3:4
.apu a9 51376 1 132 l0:64 l2:4
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
.step p0 defer
.in bf16 0x100000 5888 64 88 pitch=512 mem_pitch=92
.in bf16 0x120000 23392 88 128 pitch=512 mem_pitch=132
.step p1 prefetch defer
.in bf16 0x1000b0 0 64 88 pitch=512 mem_pitch=92
.in bf16 0x12b000 11776 88 128 pitch=512 mem_pitch=132
.step p2 prefetch defer
.in bf16 0x100160 5888 64 80 pitch=512 mem_pitch=84
.in bf16 0x136000 23392 80 128 pitch=512 mem_pitch=132
.out bf16 0x140000 35008 21 128 pitch=512 mem_pitch=132
.step p3 prefetch defer
.in bf16 0x100000 0 64 88 pitch=512 mem_pitch=92
.in bf16 0x120100 11776 88 128 pitch=512 mem_pitch=132
.out bf16 0x142a00 37780 21 128 pitch=512 mem_pitch=132
.step p4 prefetch defer
.in bf16 0x1000b0 5888 64 88 pitch=512 mem_pitch=92
.in bf16 0x12b100 23392 88 128 pitch=512 mem_pitch=132
.out bf16 0x145400 40552 22 128 pitch=512 mem_pitch=132
.step p5 prefetch defer
.in bf16 0x100160 0 64 80 pitch=512 mem_pitch=84
.in bf16 0x136100 11776 80 128 pitch=512 mem_pitch=132
.out bf16 0x140100 43456 21 128 pitch=512 mem_pitch=132
.step p0 prefetch defer
.in bf16 0x108000 5888 64 88 pitch=512 mem_pitch=92
.in bf16 0x120000 23392 88 128 pitch=512 mem_pitch=132
.out bf16 0x142b00 46228 21 128 pitch=512 mem_pitch=132
.step p1 prefetch defer
.in bf16 0x1080b0 0 64 88 pitch=512 mem_pitch=92
.in bf16 0x12b000 11776 88 128 pitch=512 mem_pitch=132
.out bf16 0x145500 49000 22 128 pitch=512 mem_pitch=132
.step p2 prefetch defer
.in bf16 0x108160 5888 64 80 pitch=512 mem_pitch=84
.in bf16 0x136000 23392 80 128 pitch=512 mem_pitch=132
.out bf16 0x148000 35008 21 128 pitch=512 mem_pitch=132
.step p3 prefetch defer
.in bf16 0x108000 0 64 88 pitch=512 mem_pitch=92
.in bf16 0x120100 11776 88 128 pitch=512 mem_pitch=132
.out bf16 0x14aa00 37780 21 128 pitch=512 mem_pitch=132
.step p4 prefetch defer
.in bf16 0x1080b0 5888 64 88 pitch=512 mem_pitch=92
.in bf16 0x12b100 23392 88 128 pitch=512 mem_pitch=132
.out bf16 0x14d400 40552 22 128 pitch=512 mem_pitch=132
.step p5 prefetch defer
.in bf16 0x108160 0 64 80 pitch=512 mem_pitch=84
.in bf16 0x136100 11776 80 128 pitch=512 mem_pitch=132
.out bf16 0x148100 43456 21 128 pitch=512 mem_pitch=132
.step p0 prefetch defer
.in bf16 0x110000 5888 64 88 pitch=512 mem_pitch=92
.in bf16 0x120000 23392 88 128 pitch=512 mem_pitch=132
.out bf16 0x14ab00 46228 21 128 pitch=512 mem_pitch=132
.step p1 prefetch defer
.in bf16 0x1100b0 0 64 88 pitch=512 mem_pitch=92
.in bf16 0x12b000 11776 88 128 pitch=512 mem_pitch=132
.out bf16 0x14d500 49000 22 128 pitch=512 mem_pitch=132
.step p2 prefetch defer
.in bf16 0x110160 5888 64 80 pitch=512 mem_pitch=84
.in bf16 0x136000 23392 80 128 pitch=512 mem_pitch=132
.out bf16 0x150000 35008 21 128 pitch=512 mem_pitch=132
.step p3 prefetch defer
.in bf16 0x110000 0 64 88 pitch=512 mem_pitch=92
.in bf16 0x120100 11776 88 128 pitch=512 mem_pitch=132
.out bf16 0x152a00 37780 21 128 pitch=512 mem_pitch=132
.step p4 prefetch defer
.in bf16 0x1100b0 5888 64 88 pitch=512 mem_pitch=92
.in bf16 0x12b100 23392 88 128 pitch=512 mem_pitch=132
.out bf16 0x155400 40552 22 128 pitch=512 mem_pitch=132
.step p5 prefetch defer
.in bf16 0x110160 0 64 80 pitch=512 mem_pitch=84
.in bf16 0x136100 11776 80 128 pitch=512 mem_pitch=132
.out bf16 0x150100 43456 21 128 pitch=512 mem_pitch=132
.step p0 prefetch defer
.in bf16 0x118000 5888 64 88 pitch=512 mem_pitch=92
.in bf16 0x120000 23392 88 128 pitch=512 mem_pitch=132
.out bf16 0x152b00 46228 21 128 pitch=512 mem_pitch=132
.step p1 prefetch defer
.in bf16 0x1180b0 0 64 88 pitch=512 mem_pitch=92
.in bf16 0x12b000 11776 88 128 pitch=512 mem_pitch=132
.out bf16 0x155500 49000 22 128 pitch=512 mem_pitch=132
.step p2 prefetch defer
.in bf16 0x118160 5888 64 80 pitch=512 mem_pitch=84
.in bf16 0x136000 23392 80 128 pitch=512 mem_pitch=132
.out bf16 0x158000 35008 21 128 pitch=512 mem_pitch=132
.step p3 prefetch defer
.in bf16 0x118000 0 64 88 pitch=512 mem_pitch=92
.in bf16 0x120100 11776 88 128 pitch=512 mem_pitch=132
.out bf16 0x15aa00 37780 21 128 pitch=512 mem_pitch=132
.step p4 prefetch defer
.in bf16 0x1180b0 5888 64 88 pitch=512 mem_pitch=92
.in bf16 0x12b100 23392 88 128 pitch=512 mem_pitch=132
.out bf16 0x15d400 40552 22 128 pitch=512 mem_pitch=132
.step p5 prefetch
.in bf16 0x118160 0 64 80 pitch=512 mem_pitch=84
.in bf16 0x136100 11776 80 128 pitch=512 mem_pitch=132
.out bf16 0x158100 43456 64 128 pitch=512 mem_pitch=132
