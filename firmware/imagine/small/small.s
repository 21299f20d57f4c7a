# y = W x + b on 4 x 2 blocks, Q11.4: the worked job of docs/isa/imagine.md, section 7.
.setupParams regCnt=14, resvRegCnt=2, maxLevel=0, fracWidth=4, mvBlockDim=(4, 2), pimDepth=256
mv_LOADMAT 3, [[1.5, -2, 0.25, -0.1875], [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,4,-0.5], [],
               [-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1]]
mv_LOADVEC_ROW 4, [2, 0.5, -3, 0.3125, 0,0,0,0,0,0,0,0,0,0,0, 1.25, 8, 0, 0, 1]
mv_LOADVEC_COL 5, [0.5, -1, 100, 0]
vv_serialEn
mv_MULTFXP rd=6, multiplicand=4, multiplier=3
mv_ALLACCUM rd=7, rs=6
mv_add rd=8, rs1=7, rs2=5
mv_SYNC
vv_parallelEn
