# Handwritten digits, layer logits of 64-32-10, 20 images, 16 x 3 blocks.
# Kept as a program: one load of the weights serves 20 images.
.setupParams regCnt=62, regWidth=16, maxLevel=1, fracWidth=8, mvBlockDim=(16, 3), resvRegCnt=2, pimDepth=1024
mv_LOADMAT 3, "digits_25f_logits.npz:logits_w0_0_0"
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x0_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x1_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x2_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x3_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x4_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x5_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x6_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x7_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x8_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x9_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x10_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x11_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x12_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x13_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x14_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x15_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x16_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x17_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x18_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
mv_LOADVEC_ROW 2, "digits_25f_logits.npz:x19_0_0"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_mov 0, 0
mv_SYNC
vv_parallelEn
