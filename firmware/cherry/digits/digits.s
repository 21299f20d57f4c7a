.program p0
.needs contexts=8
.loop l0 16
.loop l1 8
.loop l2 8
.apu a0 0 1 68 l0:4
.apu a1 36720 1 36 l0:144 l2:4
.loop l3 8
.loop l4 134
.loop l5 15
.apu a2 272 1 68 l4:272
.apu a3 36720 1 36 l3:4
.apu a4 39408 1 36 l4:144 l3:4
.apu a5 276 1 68 l4:272 l5:4
.apu a6 36864 1 36 l5:144 l2:4
.apu a7 58704 1 36 l1:4
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
.needs contexts=15
.loop l0 9
.loop l1 7
.loop l2 15
.loop l3 15
.loop l4 15
.apu a0 39408 1 36 l2:144 l0:2160
.apu a1 39412 1 36 l3:144 l0:2160 l1:4
.apu a2 39408 1 36 l3:144 l0:2160 l1:4
.apu a3 39436 1 36 l4:144 l0:2160
start_loop l0
  start_independent_loop l2
    load a0, INPUT
    relu
  end_loop l2
  start_loop l1
    start_independent_loop l3
      load a1, INPUT
      store a2, OUTPUT
      relu
    end_loop l3
  end_loop l1
  start_independent_loop l4
    store a3, OUTPUT
  end_loop l4
end_loop l0
.program p2
.needs contexts=3
.loop l0 8
.loop l1 3
.loop l2 3
.apu a0 39408 1 36 l0:4
.apu a1 39024 1 12 l0:48 l2:4
.loop l3 3
.loop l4 134
.loop l5 7
.apu a2 39552 1 36 l4:144
.apu a3 39024 1 12 l3:4
.apu a4 58848 1 12 l4:48 l3:4
.apu a5 39556 1 36 l4:144 l5:4
.apu a6 39072 1 12 l5:48 l2:4
.apu a7 65280 1 12 l1:4
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
.step p0
.in bf16 0x100000 0 540 64 mem_pitch=68
.in fp32 0x110e00 36720 64 32 mem_pitch=36
.in fp32 0x112e00 39024 32 12 mem_pitch=12
.step p1
.step p2
.out fp32 0x113400 58848 540 12 mem_pitch=12 mem_step=1
