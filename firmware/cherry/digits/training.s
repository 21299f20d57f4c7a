.program p0
.needs contexts=8
.loop l0 16
.loop l1 8
.loop l2 8
.apu a0 0 1 68 l0:4
.apu a1 4352 1 36 l0:144 l2:4
.loop l3 8
.loop l4 15
.loop l5 15
.apu a2 272 1 68 l4:272
.apu a3 4352 1 36 l3:4
.apu a4 7856 1 36 l4:144 l3:4
.apu a5 276 1 68 l4:272 l5:4
.apu a6 4496 1 36 l5:144 l2:4
.apu a7 10016 1 36 l1:4
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
.needs contexts=16
.loop l0 7
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 7856 1 36 l1:144
.apu a1 7860 1 36 l2:144 l0:4
.apu a2 7856 1 36 l2:144 l0:4
.apu a3 7884 1 36 l3:144
start_independent_loop l1
  load a0, INPUT
  relu
end_loop l1
start_loop l0
  start_independent_loop l2
    load a1, INPUT
    store a2, OUTPUT
    relu
  end_loop l2
end_loop l0
start_independent_loop l3
  store a3, OUTPUT
end_loop l3
.program p2
.needs contexts=3
.loop l0 8
.loop l1 3
.loop l2 3
.apu a0 7856 1 36 l0:4
.apu a1 6656 1 12 l0:48 l2:4
.loop l3 3
.loop l4 15
.loop l5 7
.apu a2 8000 1 36 l4:144
.apu a3 6656 1 12 l3:4
.apu a4 10160 1 12 l4:48 l3:4
.apu a5 8004 1 36 l4:144 l5:4
.apu a6 6704 1 12 l5:48 l2:4
.apu a7 10880 1 12 l1:4
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
.needs contexts=16
.loop l0 2
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 10160 1 12 l1:48
.apu a1 7808 1 0
.apu a2 10164 1 12 l2:48 l0:4
.apu a3 7812 1 0 l0:4
.apu a4 10928 1 12 l2:48 l0:4
.apu a5 10936 1 12 l3:48
start_independent_loop l1
  load a0, INPUT
  load a1, WEIGHTS
  add
end_loop l1
start_loop l0
  start_independent_loop l2
    load a2, INPUT
    load a3, WEIGHTS
    store a4, OUTPUT
    add
  end_loop l2
end_loop l0
start_independent_loop l3
  store a5, OUTPUT
end_loop l3
.program p4
.needs contexts=16
.loop l0 3
.loop l1 16
.loop l2 16
.apu a0 11952 0 0
.apu a1 10928 12 1 l0:4 l1:48
.apu a2 11696 4 1 l2:16
load a0, ACC
start_loop l0
  start_independent_loop l1
    load a1, OUTPUT
    max 1
  end_loop l1
end_loop l0
start_independent_loop l2
  store a2, ACC, 1, 4
end_loop l2
.program p5
.needs contexts=16
.loop l0 2
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 10928 1 12 l1:48
.apu a1 11696 0 4 l1:16
.apu a2 10932 1 12 l2:48 l0:4
.apu a3 11696 0 4 l2:16
.apu a4 11956 1 12 l2:48 l0:4
.apu a5 11964 1 12 l3:48
start_independent_loop l1
  load a0, INPUT
  load a1, WEIGHTS
  sub
  copy INPUT, OUTPUT
  exp
end_loop l1
start_loop l0
  start_independent_loop l2
    load a2, INPUT
    load a3, WEIGHTS
    store a4, OUTPUT
    sub
    copy INPUT, OUTPUT
    exp
  end_loop l2
end_loop l0
start_independent_loop l3
  store a5, OUTPUT
end_loop l3
.program p6
.loop l0 3
.apu a0 12772 0 0
.apu a1 12724 1 4 l0:16
start_independent_loop l0
  load a0, OUTPUT
  store a1, OUTPUT
end_loop l0
.program p7
.needs contexts=1
.loop l0 3
.loop l1 1
.loop l2 1
.apu a0 11956 1 12 l0:4
.apu a1 12724 1 4 l0:16 l2:4
.loop l3 1
.loop l4 15
.loop l5 2
.apu a2 12004 1 12 l4:48
.apu a3 12724 1 4 l3:4
.apu a4 12776 1 4 l4:16 l3:4
.apu a5 12008 1 12 l4:48 l5:4
.apu a6 12740 1 4 l5:16 l2:4
.apu a7 13016 1 4 l1:4
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
.program p8
.needs contexts=16
.loop l0 2
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 11956 1 12 l1:48
.apu a1 12776 0 4 l1:16
.apu a2 11960 1 12 l2:48 l0:4
.apu a3 12776 0 4 l2:16
.apu a4 13032 1 12 l2:48 l0:4
.apu a5 13040 1 12 l3:48
start_independent_loop l1
  load a0, INPUT
  load a1, WEIGHTS
  div
end_loop l1
start_loop l0
  start_independent_loop l2
    load a2, INPUT
    load a3, WEIGHTS
    store a4, OUTPUT
    div
  end_loop l2
end_loop l0
start_independent_loop l3
  store a5, OUTPUT
end_loop l3
.program p9
.needs contexts=16
.loop l0 2
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 13032 1 12 l1:48
.apu a1 7040 1 12 l1:48
.apu a2 13800 0 0
.apu a3 13036 1 12 l2:48 l0:4
.apu a4 7044 1 12 l2:48 l0:4
.apu a5 13804 1 12 l2:48 l0:4
.apu a6 13812 1 12 l3:48
start_independent_loop l1
  load a0, INPUT
  load a1, WEIGHTS
  sub
  copy INPUT, OUTPUT
  load a2, WEIGHTS
  mul
end_loop l1
start_loop l0
  start_independent_loop l2
    load a3, INPUT
    load a4, WEIGHTS
    store a5, OUTPUT
    sub
    copy INPUT, OUTPUT
    load a2, WEIGHTS
    mul
  end_loop l2
end_loop l0
start_independent_loop l3
  store a6, OUTPUT
end_loop l3
.program p10
.needs contexts=8
.loop l0 3
.loop l1 8
.loop l2 8
.apu a0 13804 1 12 l0:4
.apu a1 6656 12 1 l0:4 l2:48
.loop l3 8
.loop l4 15
.loop l5 2
.apu a2 13852 1 12 l4:48
.apu a3 6656 12 1 l3:48
.apu a4 14572 1 36 l4:144 l3:4
.apu a5 13856 1 12 l4:48 l5:4
.apu a6 6660 12 1 l5:4 l2:48
.apu a7 16732 1 36 l1:4
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
.program p11
.needs contexts=16
.loop l0 7
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 7856 1 36 l1:144
.apu a1 14572 1 36 l1:144
.apu a2 7860 1 36 l2:144 l0:4
.apu a3 16876 1 36 l2:144 l0:4
.apu a4 14576 1 36 l2:144 l0:4
.apu a5 16904 1 36 l3:144
start_independent_loop l1
  load a0, INPUT
  gtz
  copy INPUT, OUTPUT
  load a1, WEIGHTS
  mul
end_loop l1
start_loop l0
  start_independent_loop l2
    load a2, INPUT
    store a3, OUTPUT
    gtz
    copy INPUT, OUTPUT
    load a4, WEIGHTS
    mul
  end_loop l2
end_loop l0
start_independent_loop l3
  store a5, OUTPUT
end_loop l3
.program p12
.needs contexts=3
.loop l0 16
.loop l1 3
.loop l2 3
.apu a0 7856 36 1 l0:144
.apu a1 13804 1 12 l0:48 l2:4
.loop l3 3
.loop l4 7
.loop l5 15
.apu a2 7860 36 1 l4:4
.apu a3 13804 1 12 l3:4
.apu a4 19180 1 12 l4:48 l3:4
.apu a5 8004 36 1 l4:4 l5:144
.apu a6 13852 1 12 l5:48 l2:4
.apu a7 19516 1 12 l1:4
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
.program p13
.needs contexts=8
.loop l0 2
.loop l1 8
.loop l2 8
.loop l3 8
.apu a0 6656 1 12 l1:48
.apu a1 19180 1 12 l1:48
.apu a2 6660 1 12 l2:48 l0:4
.apu a3 19184 1 12 l2:48 l0:4
.apu a4 19564 1 12 l2:48 l0:4
.apu a5 19572 1 12 l3:48
start_independent_loop l1
  load a0, INPUT
  load a1, WEIGHTS
  sub
end_loop l1
start_loop l0
  start_independent_loop l2
    load a2, INPUT
    load a3, WEIGHTS
    store a4, OUTPUT
    sub
  end_loop l2
end_loop l0
start_independent_loop l3
  store a5, OUTPUT
end_loop l3
.program p14
.needs contexts=8
.loop l0 16
.loop l1 8
.loop l2 8
.apu a0 0 68 1 l0:272
.apu a1 16876 1 36 l0:144 l2:4
.loop l3 8
.loop l4 15
.loop l5 15
.apu a2 4 68 1 l4:4
.apu a3 16876 1 36 l3:4
.apu a4 19948 1 36 l4:144 l3:4
.apu a5 276 68 1 l4:4 l5:272
.apu a6 17020 1 36 l5:144 l2:4
.apu a7 22108 1 36 l1:4
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
.program p15
.needs contexts=16
.loop l0 7
.loop l1 16
.loop l2 16
.loop l3 16
.apu a0 4352 1 36 l1:144
.apu a1 19948 1 36 l1:144
.apu a2 4356 1 36 l2:144 l0:4
.apu a3 19952 1 36 l2:144 l0:4
.apu a4 22252 1 36 l2:144 l0:4
.apu a5 22280 1 36 l3:144
start_independent_loop l1
  load a0, INPUT
  load a1, WEIGHTS
  sub
end_loop l1
start_loop l0
  start_independent_loop l2
    load a2, INPUT
    load a3, WEIGHTS
    store a4, OUTPUT
    sub
  end_loop l2
end_loop l0
start_independent_loop l3
  store a5, OUTPUT
end_loop l3
.step p0
.fill 0.0 7808 4 12 mem_pitch=12
.fill 0.0 11696 64 4 mem_pitch=4
.fill -inf 11952 1 1
.fill 0.0 12724 12 4 mem_pitch=4
.fill 1.0 12772 1 1
.fill 0.0 12776 64 4 mem_pitch=4
.fill 0.00078125 13800 1 1
.in fp32 0x100000 0 64 64 mem_pitch=68
.in fp32 0x104000 4352 64 32 mem_pitch=36
.in fp32 0x106000 6656 32 12 mem_pitch=12
.in fp32 0x106600 7040 64 12 mem_pitch=12
.in fp32 0x107200 7808 1 12 mem_pitch=12
.step p1
.step p2
.step p3
.step p4
.step p5
.step p6
.step p7
.step p8
.step p9
.step p10
.step p11
.step p12
.step p13
.step p14
.step p15
.out fp32 0x107240 19564 32 12 mem_pitch=12 mem_step=1
.out fp32 0x107840 22252 64 32 mem_pitch=36 mem_step=1
