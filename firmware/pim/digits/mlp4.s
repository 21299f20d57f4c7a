# Handwritten digits, an MLP 64-32-10: 540 held-out images on 4 cores.
# Kept as a program: it shares the images out, of which a compiled network takes one at a time.
.gmem 0x1000000, 0x0
.groups "mlp4_groups.json.gz"
.core 0
.mode packed
sldi $0, 0
sldi $1, 0
sldi $2, 0
sldi $3, 34560
.rept 15
sldi $4, 0
ld $4, $0, 576
setbw 8, 8
sldi $5, 756
mvmul $5, $4, 8, 1, 0
setbw 8, 16
sldi $6, 576
mvmul $6, $5, 8, 0, 1
setbw 8, 8
sldi $7, 64
mvmul $5, $7, 8, 1, 0
setbw 8, 16
sldi $8, 596
mvmul $8, $5, 8, 0, 1
setbw 8, 8
sldi $9, 128
mvmul $5, $9, 8, 1, 0
setbw 8, 16
sldi $10, 616
mvmul $10, $5, 8, 0, 1
setbw 8, 8
sldi $11, 192
mvmul $5, $11, 8, 1, 0
setbw 8, 16
sldi $12, 636
mvmul $12, $5, 8, 0, 1
setbw 8, 8
sldi $13, 256
mvmul $5, $13, 8, 1, 0
setbw 8, 16
sldi $14, 656
mvmul $14, $5, 8, 0, 1
setbw 8, 8
sldi $15, 320
mvmul $5, $15, 8, 1, 0
setbw 8, 16
sldi $16, 676
mvmul $16, $5, 8, 0, 1
setbw 8, 8
sldi $17, 384
mvmul $5, $17, 8, 1, 0
setbw 8, 16
sldi $18, 696
mvmul $18, $5, 8, 0, 1
setbw 8, 8
sldi $19, 448
mvmul $5, $19, 8, 1, 0
setbw 8, 16
sldi $20, 716
mvmul $20, $5, 8, 0, 1
setbw 8, 8
sldi $21, 512
mvmul $5, $21, 8, 1, 0
setbw 8, 16
sldi $22, 736
mvmul $22, $5, 8, 0, 1
st $2, $6, 180
saddi $1, $1, 576
saddi $3, $3, 180
.endr
.core 1
.mode packed
sldi $0, 0
sldi $1, 8640
sldi $2, 0
sldi $3, 37260
.rept 15
sldi $4, 0
ld $4, $0, 576
setbw 8, 8
sldi $5, 756
mvmul $5, $4, 8, 1, 0
setbw 8, 16
sldi $6, 576
mvmul $6, $5, 8, 0, 1
setbw 8, 8
sldi $7, 64
mvmul $5, $7, 8, 1, 0
setbw 8, 16
sldi $8, 596
mvmul $8, $5, 8, 0, 1
setbw 8, 8
sldi $9, 128
mvmul $5, $9, 8, 1, 0
setbw 8, 16
sldi $10, 616
mvmul $10, $5, 8, 0, 1
setbw 8, 8
sldi $11, 192
mvmul $5, $11, 8, 1, 0
setbw 8, 16
sldi $12, 636
mvmul $12, $5, 8, 0, 1
setbw 8, 8
sldi $13, 256
mvmul $5, $13, 8, 1, 0
setbw 8, 16
sldi $14, 656
mvmul $14, $5, 8, 0, 1
setbw 8, 8
sldi $15, 320
mvmul $5, $15, 8, 1, 0
setbw 8, 16
sldi $16, 676
mvmul $16, $5, 8, 0, 1
setbw 8, 8
sldi $17, 384
mvmul $5, $17, 8, 1, 0
setbw 8, 16
sldi $18, 696
mvmul $18, $5, 8, 0, 1
setbw 8, 8
sldi $19, 448
mvmul $5, $19, 8, 1, 0
setbw 8, 16
sldi $20, 716
mvmul $20, $5, 8, 0, 1
setbw 8, 8
sldi $21, 512
mvmul $5, $21, 8, 1, 0
setbw 8, 16
sldi $22, 736
mvmul $22, $5, 8, 0, 1
st $2, $6, 180
saddi $1, $1, 576
saddi $3, $3, 180
.endr
.core 2
.mode packed
sldi $0, 0
sldi $1, 17280
sldi $2, 0
sldi $3, 39960
.rept 15
sldi $4, 0
ld $4, $0, 576
setbw 8, 8
sldi $5, 756
mvmul $5, $4, 8, 1, 0
setbw 8, 16
sldi $6, 576
mvmul $6, $5, 8, 0, 1
setbw 8, 8
sldi $7, 64
mvmul $5, $7, 8, 1, 0
setbw 8, 16
sldi $8, 596
mvmul $8, $5, 8, 0, 1
setbw 8, 8
sldi $9, 128
mvmul $5, $9, 8, 1, 0
setbw 8, 16
sldi $10, 616
mvmul $10, $5, 8, 0, 1
setbw 8, 8
sldi $11, 192
mvmul $5, $11, 8, 1, 0
setbw 8, 16
sldi $12, 636
mvmul $12, $5, 8, 0, 1
setbw 8, 8
sldi $13, 256
mvmul $5, $13, 8, 1, 0
setbw 8, 16
sldi $14, 656
mvmul $14, $5, 8, 0, 1
setbw 8, 8
sldi $15, 320
mvmul $5, $15, 8, 1, 0
setbw 8, 16
sldi $16, 676
mvmul $16, $5, 8, 0, 1
setbw 8, 8
sldi $17, 384
mvmul $5, $17, 8, 1, 0
setbw 8, 16
sldi $18, 696
mvmul $18, $5, 8, 0, 1
setbw 8, 8
sldi $19, 448
mvmul $5, $19, 8, 1, 0
setbw 8, 16
sldi $20, 716
mvmul $20, $5, 8, 0, 1
setbw 8, 8
sldi $21, 512
mvmul $5, $21, 8, 1, 0
setbw 8, 16
sldi $22, 736
mvmul $22, $5, 8, 0, 1
st $2, $6, 180
saddi $1, $1, 576
saddi $3, $3, 180
.endr
.core 3
.mode packed
sldi $0, 0
sldi $1, 25920
sldi $2, 0
sldi $3, 42660
.rept 15
sldi $4, 0
ld $4, $0, 576
setbw 8, 8
sldi $5, 756
mvmul $5, $4, 8, 1, 0
setbw 8, 16
sldi $6, 576
mvmul $6, $5, 8, 0, 1
setbw 8, 8
sldi $7, 64
mvmul $5, $7, 8, 1, 0
setbw 8, 16
sldi $8, 596
mvmul $8, $5, 8, 0, 1
setbw 8, 8
sldi $9, 128
mvmul $5, $9, 8, 1, 0
setbw 8, 16
sldi $10, 616
mvmul $10, $5, 8, 0, 1
setbw 8, 8
sldi $11, 192
mvmul $5, $11, 8, 1, 0
setbw 8, 16
sldi $12, 636
mvmul $12, $5, 8, 0, 1
setbw 8, 8
sldi $13, 256
mvmul $5, $13, 8, 1, 0
setbw 8, 16
sldi $14, 656
mvmul $14, $5, 8, 0, 1
setbw 8, 8
sldi $15, 320
mvmul $5, $15, 8, 1, 0
setbw 8, 16
sldi $16, 676
mvmul $16, $5, 8, 0, 1
setbw 8, 8
sldi $17, 384
mvmul $5, $17, 8, 1, 0
setbw 8, 16
sldi $18, 696
mvmul $18, $5, 8, 0, 1
setbw 8, 8
sldi $19, 448
mvmul $5, $19, 8, 1, 0
setbw 8, 16
sldi $20, 716
mvmul $20, $5, 8, 0, 1
setbw 8, 8
sldi $21, 512
mvmul $5, $21, 8, 1, 0
setbw 8, 16
sldi $22, 736
mvmul $22, $5, 8, 0, 1
st $2, $6, 180
saddi $1, $1, 576
saddi $3, $3, 180
.endr
