# Handwritten digits, layer hidden of 64-32-10, 20 images, 16 x 3 blocks.
# Kept as a program: one load of the weights serves 20 images.
.setupParams regCnt=62, regWidth=16, maxLevel=1, fracWidth=8, mvBlockDim=(16, 3), resvRegCnt=2, pimDepth=1024
mv_LOADMAT 4, "digits_25f_hidden.npz:hidden_w0_0_0"
mv_LOADMAT 5, "digits_25f_hidden.npz:hidden_w0_0_48"
mv_LOADVEC_COL 8, "digits_25f_hidden.npz:hidden_b_0"
mv_LOADMAT 6, "digits_25f_hidden.npz:hidden_w0_16_0"
mv_LOADMAT 7, "digits_25f_hidden.npz:hidden_w0_16_48"
mv_LOADVEC_COL 9, "digits_25f_hidden.npz:hidden_b_16"
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x0_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x0_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x1_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x1_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x2_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x2_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x3_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x3_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x4_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x4_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x5_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x5_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x6_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x6_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x7_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x7_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x8_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x8_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x9_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x9_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x10_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x10_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x11_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x11_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x12_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x12_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x13_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x13_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x14_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x14_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x15_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x15_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x16_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x16_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x17_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x17_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x18_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x18_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_hidden.npz:x19_0_0"
mv_LOADVEC_ROW 3, "digits_25f_hidden.npz:x19_0_48"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 8
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 9
mv_SYNC
vv_parallelEn
