# Handwritten digits, layer hidden of 64-32-10, 20 images, 4 x 2 blocks.
# Kept as a program: one load of the weights serves 20 images.
.setupParams regCnt=14, regWidth=16, maxLevel=0, fracWidth=8, mvBlockDim=(4, 2), resvRegCnt=2, pimDepth=256
mv_LOADMAT 4, "digits_up5k_hidden.npz:hidden_w0_0_0"
mv_LOADMAT 5, "digits_up5k_hidden.npz:hidden_w0_0_32"
mv_LOADVEC_COL 10, "digits_up5k_hidden.npz:hidden_b_0"
mv_LOADMAT 6, "digits_up5k_hidden.npz:hidden_w0_4_0"
mv_LOADMAT 7, "digits_up5k_hidden.npz:hidden_w0_4_32"
mv_LOADVEC_COL 11, "digits_up5k_hidden.npz:hidden_b_4"
mv_LOADMAT 8, "digits_up5k_hidden.npz:hidden_w0_8_0"
mv_LOADMAT 9, "digits_up5k_hidden.npz:hidden_w0_8_32"
mv_LOADVEC_COL 12, "digits_up5k_hidden.npz:hidden_b_8"
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x0_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x0_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x1_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x1_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x2_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x2_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x3_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x3_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x4_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x4_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x5_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x5_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x6_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x6_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x7_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x7_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x8_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x8_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x9_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x9_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x10_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x10_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x11_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x11_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x12_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x12_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x13_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x13_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x14_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x14_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x15_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x15_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x16_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x16_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x17_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x17_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x18_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x18_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x19_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x19_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADMAT 4, "digits_up5k_hidden.npz:hidden_w0_12_0"
mv_LOADMAT 5, "digits_up5k_hidden.npz:hidden_w0_12_32"
mv_LOADVEC_COL 10, "digits_up5k_hidden.npz:hidden_b_12"
mv_LOADMAT 6, "digits_up5k_hidden.npz:hidden_w0_16_0"
mv_LOADMAT 7, "digits_up5k_hidden.npz:hidden_w0_16_32"
mv_LOADVEC_COL 11, "digits_up5k_hidden.npz:hidden_b_16"
mv_LOADMAT 8, "digits_up5k_hidden.npz:hidden_w0_20_0"
mv_LOADMAT 9, "digits_up5k_hidden.npz:hidden_w0_20_32"
mv_LOADVEC_COL 12, "digits_up5k_hidden.npz:hidden_b_20"
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x0_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x0_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x1_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x1_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x2_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x2_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x3_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x3_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x4_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x4_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x5_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x5_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x6_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x6_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x7_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x7_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x8_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x8_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x9_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x9_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x10_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x10_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x11_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x11_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x12_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x12_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x13_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x13_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x14_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x14_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x15_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x15_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x16_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x16_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x17_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x17_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x18_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x18_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x19_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x19_0_32"
mv_MULTFXP 0, 2, 4
mv_MULTFXP 1, 3, 5
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 10
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 6
mv_MULTFXP 1, 3, 7
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 11
mv_SYNC
vv_parallelEn
mv_MULTFXP 0, 2, 8
mv_MULTFXP 1, 3, 9
mv_add 0, 0, 1
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 12
mv_SYNC
vv_parallelEn
mv_LOADMAT 4, "digits_up5k_hidden.npz:hidden_w0_24_0"
mv_LOADMAT 5, "digits_up5k_hidden.npz:hidden_w0_24_32"
mv_LOADVEC_COL 8, "digits_up5k_hidden.npz:hidden_b_24"
mv_LOADMAT 6, "digits_up5k_hidden.npz:hidden_w0_28_0"
mv_LOADMAT 7, "digits_up5k_hidden.npz:hidden_w0_28_32"
mv_LOADVEC_COL 9, "digits_up5k_hidden.npz:hidden_b_28"
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x0_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x0_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x1_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x1_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x2_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x2_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x3_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x3_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x4_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x4_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x5_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x5_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x6_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x6_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x7_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x7_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x8_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x8_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x9_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x9_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x10_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x10_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x11_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x11_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x12_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x12_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x13_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x13_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x14_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x14_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x15_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x15_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x16_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x16_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x17_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x17_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x18_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x18_0_32"
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
mv_LOADVEC_ROW 2, "digits_up5k_hidden.npz:x19_0_0"
mv_LOADVEC_ROW 3, "digits_up5k_hidden.npz:x19_0_32"
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
