.program p0
.loop l0 4
.loop l1 8
.apu a0 0 1 36 l1:4 l0:144
.apu a1 576 1 36 l1:4 l0:144
.apu a2 1152 1 36 l1:4 l0:144
start_loop l0
  start_independent_loop l1
    load a0, INPUT
    load a1, WEIGHTS
    add
    store a2, OUTPUT
  end_loop l1
end_loop l0
.step p0
.in fp32 0x4000 0 16 32 mem_pitch=36
.in fp32 0x4800 576 16 32 mem_pitch=36
.out fp32 0x5000 1152 16 32 mem_pitch=36 mem_step=1
