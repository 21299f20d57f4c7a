; C = relu(A @ B), A 4x8, B 8x8: tiles of 4x4, the products of a row of tiles in one group.
.needs contexts=2
.equ PA 0
.equ PB 32
.equ PC 96
.loop z 2
.loop k 2
.loop n 2
.loop s 2
.apu A PA 1 8 k:4
.apu B PB 1 8 k:32 n:4
.apu C PC 1 8 s:4
.in fp32 0x2000 PA 4 8
.in fp32 0x2100 PB 8 8
.out fp32 0x3000 PC 4 8
start_independent_loop z
  zero ACC            ; uniform
end_loop z
start_loop k
  start_independent_loop n
    load A, INPUT     ; uniform: A has no coefficient for n
    load B, WEIGHTS
    matmul
  end_loop n
end_loop k
start_independent_loop s
  copy INPUT, ACC
  relu
  store C, OUTPUT
end_loop s
