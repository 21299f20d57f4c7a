# Handwritten digits, a CNN 3x3 1-16, 3x3 16-32, 128-64, 64-10: the first 40 held-out images on 4 cores.
.equ images, 40
.gmem 0x400000, 0x0
.include "../../digits/cnn4.inc"
