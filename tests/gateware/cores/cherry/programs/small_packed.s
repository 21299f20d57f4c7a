.program p0
.needs contexts=1
.loop l0 3
.loop l1 4
.loop l2 1
.loop l3 1
.apu a0 320 1 20 l1:4
.apu a1 832 1 12 l0:4 l1:48 l3:4
.loop l4 1
.loop l5 3
.loop l6 3
.apu a2 400 1 20 l5:80
.apu a3 832 1 12 l0:4 l4:4
.apu a4 1024 1 12 l0:4 l5:48 l4:4
.apu a5 404 1 20 l5:80 l6:4
.apu a6 880 1 12 l0:4 l6:48 l3:4
.apu a7 1168 1 12 l0:4 l2:4
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
.loop l0 3
.loop l1 4
.loop l2 1
.loop l3 1
.apu a0 0 1 20 l1:4
.apu a1 832 1 12 l0:4 l1:48 l3:4
.apu a2 1216 1 12 l0:4 l2:4
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
  start_independent_loop l2
    store a2, ACC
  end_loop l2
end_loop l0
.program p2
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
.fill 0.0 334 16 2 mem_pitch=20
.in packed 0x10000 320 16 14 pitch=32 mem_pitch=20
.fill 0.0 843 16 1 mem_pitch=12
.fill 0.0 1000 2 12 mem_pitch=12
.in packed 0x10240 832 14 11 pitch=28 mem_pitch=12
.out packed 0x10400 1024 16 11 pitch=28 mem_pitch=12
.step p1 prefetch
.fill 0.0 14 4 2 mem_pitch=20
.fill 0.0 40 2 16 mem_pitch=20
.in packed 0x10200 0 2 14 pitch=32 mem_pitch=20
.out packed 0x105c0 1216 2 11 pitch=28 mem_pitch=12
.step p2
.in packed 0x10400 0 18 11 pitch=28 mem_pitch=12
.in packed 0x10600 240 18 11 pitch=28 mem_pitch=12
.out packed 0x10400 480 18 11 pitch=28 mem_pitch=12
