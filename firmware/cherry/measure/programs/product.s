.program p0
.needs contexts=1
.loop l0 4
.loop l1 4
.loop l2 1
.loop l3 1
.apu a0 0 1 20 l1:4
.apu a1 320 1 20 l0:4 l1:80 l3:4
.loop l4 1
.loop l5 3
.loop l6 3
.apu a2 80 1 20 l5:80
.apu a3 320 1 20 l0:4 l4:4
.apu a4 640 1 20 l0:4 l5:80 l4:4
.apu a5 84 1 20 l5:80 l6:4
.apu a6 400 1 20 l0:4 l6:80 l3:4
.apu a7 880 1 20 l0:4 l2:4
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
.step p0
.in fp32 0x4000 0 16 16 mem_pitch=20
.in fp32 0x4400 320 16 16 mem_pitch=20
.out fp32 0x4800 640 16 16 mem_pitch=20 mem_step=1
