; The worked job of the specification: core 0 computes a hidden vector, core 1 the output, core 0 squares it.
.gmem 0x0030_0000, 0x1000
.core 0
.group 0, rows=4, cols=6, shift=2
.weights 1,-2,3,4,0,-1,  2,1,-1,0,5,1,  -3,2,2,1,1,0,  1,1,-4,2,-2,3
        setbw 8, 8
        gaddr $2, 0                 ; GMem 0 in $2:$3
        sldi  $0, 0                 ; x
        sldi  $1, 0x20              ; h
        ld    $0, $2, 4
        mvmul $1, $0, 8, 1, 0
        send  $1, 1, 6
        wait  5, 1
        ld    $1, $2, 3, @0x100:1   ; y back
        setbw 8, 16
        sldi  $4, 0x40
        vvmul $4, $1, $1, 3
        st    $2, $4, 6, @0x110:d
.core 1
.group 0, rows=6, cols=3, shift=3
.weights 1,2,-3,  -1,0,4,  2,-2,1,  3,1,1,  0,-1,2,  1,1,-1
.bias 100,-50,3
        setbw 8, 8
        sldi  $0, 0
        sldi  $1, 0x20
        recv  $0, 0, 6
        mvmul $1, $0, 8, 0, 0
        gaddr $2, 0x100
        st    $2, $1, 3
        sync  5, 0
