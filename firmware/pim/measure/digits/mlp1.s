# Handwritten digits, an MLP 64-32-10: the first 40 held-out images on 1 core.
.gmem 0x400000, 0x0
.groups "mlp1_groups.json.gz"
.core 0
.mode packed
sldi $0, 0
sldi $1, 0
sldi $2, 0
sldi $3, 2560
.rept 8
sldi $4, 0
ld $4, $0, 320
setbw 8, 8
sldi $5, 420
mvmul $5, $4, 8, 1, 0
setbw 8, 16
sldi $6, 320
mvmul $6, $5, 8, 0, 1
setbw 8, 8
sldi $7, 64
mvmul $5, $7, 8, 1, 0
setbw 8, 16
sldi $8, 340
mvmul $8, $5, 8, 0, 1
setbw 8, 8
sldi $9, 128
mvmul $5, $9, 8, 1, 0
setbw 8, 16
sldi $10, 360
mvmul $10, $5, 8, 0, 1
setbw 8, 8
sldi $11, 192
mvmul $5, $11, 8, 1, 0
setbw 8, 16
sldi $12, 380
mvmul $12, $5, 8, 0, 1
setbw 8, 8
sldi $13, 256
mvmul $5, $13, 8, 1, 0
setbw 8, 16
sldi $14, 400
mvmul $14, $5, 8, 0, 1
st $2, $6, 100
saddi $1, $1, 320
saddi $3, $3, 100
.endr
