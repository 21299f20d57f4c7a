# Handwritten digits, a CNN 3x3 1-16, 3x3 16-32, 128-64, 64-10: 540 held-out images on 4 cores.
# Kept as a program: it shares the images out, of which a compiled network takes one at a time.
.equ images, 540
.gmem 0x1000000, 0x0
.include "cnn4.inc"
