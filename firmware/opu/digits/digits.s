# Handwritten digits, a CNN 3x3 1-16, 3x3 16-32, 128-64, 64-10: 540 held-out images.
# Kept as a program: its first layer's taps are folded into channels of the input.
# conv1, images 0 to 59
@shape.ofm [8,8,16]
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0x0
@mem.bias 1
ld.bias 0x4
@shape.ker 1
@mem.ker 1
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
pad 0x8964, 1
pad 0x8988, 1
pad 0x89ac, 1
pad 0x89d0, 1
pad 0x89f4, 1
pad 0x8a18, 1
pad 0x8a3c, 1
pad 0x8a60, 1
pad 0x8a84, 1
pad 0x8aa8, 1
pad 0x8acc, 1
pad 0x8af0, 1
pad 0x8b14, 1
pad 0x8b38, 1
pad 0x8b5c, 1
pad 0x8b80, 1
pad 0x8ba4, 1
pad 0x8bc8, 1
pad 0x8bec, 1
pad 0x8c10, 1
pad 0x8c34, 1
pad 0x8c58, 1
pad 0x8c7c, 1
pad 0x8ca0, 1
pad 0x8cc4, 1
pad 0x8ce8, 1
pad 0x8d0c, 1
pad 0x8d30, 1
pad 0x8d54, 1
pad 0x8d78, 1
pad 0x8d9c, 1
pad 0x8dc0, 1
pad 0x8de4, 1
pad 0x8e08, 1
pad 0x8e2c, 1
pad 0x8e50, 1
pad 0x8e74, 1
pad 0x8e98, 1
pad 0x8ebc, 1
pad 0x8ee0, 1
pad 0x8f04, 1
pad 0x8f28, 1
pad 0x8f4c, 1
pad 0x8f70, 1
pad 0x8f94, 1
pad 0x8fb8, 1
pad 0x8fdc, 1
pad 0x9000, 1
pad 0x9024, 1
pad 0x9048, 1
pad 0x906c, 1
pad 0x9090, 1
pad 0x90b4, 1
pad 0x90d8, 1
pad 0x90fc, 1
pad 0x9120, 1
pad 0x9144, 1
pad 0x9168, 1
ld.ifm 0x40
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0x80
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0xc0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x100
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x140
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x180
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1c0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x200
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x240
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x280
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2c0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x300
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x340
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x380
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3c0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x400
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x440
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x480
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4c0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x500
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x540
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x580
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5c0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x600
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x640
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x680
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6c0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x700
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x740
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x780
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7c0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x800
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x840
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x880
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x900
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x940
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x980
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x9c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0xa00
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0xa40
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0xa80
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0xac0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0xb00
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0xb40
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0xb80
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0xbc0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0xc00
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0xc40
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0xc80
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0xcc0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0xd00
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0xd40
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0xd80
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0xdc0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0xe00
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0xe40
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0xe80
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0xec0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 0 to 59
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 0 to 59
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 0 to 59
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x8700
conv.bias ifm:[0,0], ker:0
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0xf00
ld.bias 0x4
store 0x871e
# conv1, images 60 to 119
@shape.ofm [8,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
ld.ifm 0xf40
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0xf80
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0xfc0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1000
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1040
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1080
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x10c0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1100
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1140
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1180
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x11c0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1200
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1240
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1280
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x12c0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1300
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1340
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1380
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x13c0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1400
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1440
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1480
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x14c0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1500
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1540
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1580
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x15c0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1600
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1640
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1680
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x16c0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1700
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1740
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1780
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x17c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1800
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1840
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1880
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x18c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1900
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1940
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1980
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x19c0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1a00
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1a40
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1a80
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1ac0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1b00
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1b40
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1b80
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1bc0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1c00
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1c40
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1c80
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1cc0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1d00
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1d40
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1d80
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1dc0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 60 to 119
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 60 to 119
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 60 to 119
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x873c
conv.bias ifm:[0,0], ker:0
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0x1e00
ld.bias 0x4
store 0x875a
# conv1, images 120 to 179
@shape.ofm [8,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
ld.ifm 0x1e40
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1e80
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1ec0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1f00
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1f40
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1f80
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1fc0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2000
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2040
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2080
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x20c0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2100
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2140
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2180
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x21c0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2200
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2240
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2280
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x22c0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2300
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2340
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2380
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x23c0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2400
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2440
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2480
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x24c0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2500
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2540
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2580
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x25c0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2600
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2640
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2680
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x26c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2700
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2740
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2780
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x27c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2800
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2840
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2880
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x28c0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2900
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2940
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2980
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0x29c0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2a00
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2a40
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2a80
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2ac0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2b00
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2b40
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2b80
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2bc0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2c00
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2c40
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2c80
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2cc0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 120 to 179
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 120 to 179
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 120 to 179
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x8778
conv.bias ifm:[0,0], ker:0
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0x2d00
ld.bias 0x4
store 0x8796
# conv1, images 180 to 239
@shape.ofm [8,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
ld.ifm 0x2d40
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2d80
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2dc0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2e00
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2e40
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2e80
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2ec0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2f00
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2f40
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2f80
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x2fc0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3000
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3040
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3080
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x30c0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3100
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3140
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3180
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x31c0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3200
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3240
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3280
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x32c0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3300
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3340
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3380
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x33c0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3400
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3440
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3480
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x34c0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3500
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3540
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3580
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x35c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3600
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3640
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3680
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x36c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3700
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3740
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3780
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x37c0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3800
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3840
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3880
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0x38c0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3900
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3940
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3980
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0x39c0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3a00
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3a40
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3a80
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3ac0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3b00
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3b40
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3b80
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3bc0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 180 to 239
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 180 to 239
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 180 to 239
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x87b4
conv.bias ifm:[0,0], ker:0
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0x3c00
ld.bias 0x4
store 0x87d2
# conv1, images 240 to 299
@shape.ofm [8,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
ld.ifm 0x3c40
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3c80
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3cc0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3d00
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3d40
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3d80
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3dc0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3e00
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3e40
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3e80
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3ec0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3f00
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3f40
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3f80
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x3fc0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4000
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4040
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4080
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x40c0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4100
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4140
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4180
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x41c0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4200
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4240
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4280
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x42c0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4300
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4340
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4380
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x43c0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4400
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4440
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4480
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x44c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4500
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4540
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4580
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x45c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4600
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4640
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4680
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x46c0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4700
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4740
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4780
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0x47c0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4800
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4840
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4880
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0x48c0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4900
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4940
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4980
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0x49c0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4a00
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4a40
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4a80
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4ac0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 240 to 299
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 240 to 299
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 240 to 299
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x87f0
conv.bias ifm:[0,0], ker:0
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0x4b00
ld.bias 0x4
store 0x880e
# conv1, images 300 to 359
@shape.ofm [8,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
ld.ifm 0x4b40
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4b80
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4bc0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4c00
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4c40
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4c80
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4cc0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4d00
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4d40
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4d80
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4dc0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4e00
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4e40
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4e80
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4ec0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4f00
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4f40
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4f80
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x4fc0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5000
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5040
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5080
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x50c0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5100
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5140
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5180
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x51c0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5200
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5240
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5280
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x52c0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5300
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5340
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5380
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x53c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5400
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5440
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5480
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x54c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5500
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5540
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5580
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x55c0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5600
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5640
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5680
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0x56c0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5700
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5740
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5780
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0x57c0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5800
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5840
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5880
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0x58c0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5900
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5940
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5980
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0x59c0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 300 to 359
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 300 to 359
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 300 to 359
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x882c
conv.bias ifm:[0,0], ker:0
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0x5a00
ld.bias 0x4
store 0x884a
# conv1, images 360 to 419
@shape.ofm [8,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
ld.ifm 0x5a40
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5a80
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5ac0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5b00
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5b40
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5b80
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5bc0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5c00
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5c40
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5c80
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5cc0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5d00
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5d40
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5d80
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5dc0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5e00
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5e40
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5e80
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5ec0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5f00
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5f40
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5f80
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x5fc0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6000
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6040
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6080
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x60c0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6100
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6140
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6180
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x61c0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6200
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6240
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6280
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x62c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6300
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6340
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6380
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x63c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6400
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6440
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6480
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x64c0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6500
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6540
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6580
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0x65c0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6600
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6640
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6680
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0x66c0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6700
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6740
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6780
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0x67c0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6800
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6840
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6880
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0x68c0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 360 to 419
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 360 to 419
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 360 to 419
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x8868
conv.bias ifm:[0,0], ker:0
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0x6900
ld.bias 0x4
store 0x8886
# conv1, images 420 to 479
@shape.ofm [8,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
ld.ifm 0x6940
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6980
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0x69c0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6a00
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6a40
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6a80
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6ac0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6b00
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6b40
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6b80
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6bc0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6c00
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6c40
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6c80
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6cc0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6d00
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6d40
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6d80
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6dc0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6e00
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6e40
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6e80
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6ec0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6f00
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6f40
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6f80
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x6fc0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7000
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7040
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7080
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x70c0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7100
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7140
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7180
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x71c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7200
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7240
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7280
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x72c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7300
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7340
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7380
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x73c0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7400
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7440
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7480
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0x74c0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7500
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7540
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7580
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0x75c0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7600
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7640
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7680
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0x76c0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7700
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7740
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7780
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0x77c0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 420 to 479
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 420 to 479
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 420 to 479
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x88a4
conv.bias ifm:[0,0], ker:0
@shape.ifm [8,8,16]
@mem.ifm 2, 8
ld.ifm 0x7800
ld.bias 0x4
store 0x88c2
# conv1, images 480 to 539
@shape.ofm [8,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x891c, 1
pad 0x8940, 1
ld.ifm 0x7840
@post act.relu, pool
@pool [2,2], [2,2]
store 0x8923
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7880
store 0x8947
conv.bias ifm:[0,0], ker:0
ld.ifm 0x78c0
store 0x896b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7900
store 0x898f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7940
store 0x89b3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7980
store 0x89d7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x79c0
store 0x89fb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7a00
store 0x8a1f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7a40
store 0x8a43
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7a80
store 0x8a67
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7ac0
store 0x8a8b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7b00
store 0x8aaf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7b40
store 0x8ad3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7b80
store 0x8af7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7bc0
store 0x8b1b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7c00
store 0x8b3f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7c40
store 0x8b63
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7c80
store 0x8b87
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7cc0
store 0x8bab
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7d00
store 0x8bcf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7d40
store 0x8bf3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7d80
store 0x8c17
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7dc0
store 0x8c3b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7e00
store 0x8c5f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7e40
store 0x8c83
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7e80
store 0x8ca7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7ec0
store 0x8ccb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7f00
store 0x8cef
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7f40
store 0x8d13
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7f80
store 0x8d37
conv.bias ifm:[0,0], ker:0
ld.ifm 0x7fc0
store 0x8d5b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8000
store 0x8d7f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8040
store 0x8da3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8080
store 0x8dc7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x80c0
store 0x8deb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8100
store 0x8e0f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8140
store 0x8e33
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8180
store 0x8e57
conv.bias ifm:[0,0], ker:0
ld.ifm 0x81c0
store 0x8e7b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8200
store 0x8e9f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8240
store 0x8ec3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8280
store 0x8ee7
conv.bias ifm:[0,0], ker:0
ld.ifm 0x82c0
store 0x8f0b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8300
store 0x8f2f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8340
store 0x8f53
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8380
store 0x8f77
conv.bias ifm:[0,0], ker:0
ld.ifm 0x83c0
store 0x8f9b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8400
store 0x8fbf
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8440
store 0x8fe3
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8480
store 0x9007
conv.bias ifm:[0,0], ker:0
ld.ifm 0x84c0
store 0x902b
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8500
store 0x904f
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8540
store 0x9073
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8580
store 0x9097
conv.bias ifm:[0,0], ker:0
ld.ifm 0x85c0
store 0x90bb
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8600
store 0x90df
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8640
store 0x9103
conv.bias ifm:[0,0], ker:0
ld.ifm 0x8680
store 0x9127
conv.bias ifm:[0,0], ker:0
ld.ifm 0x86c0
store 0x914b
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x891c
store 0x916f
# conv2, images 480 to 539
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 9
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8940
@mem.ofm 2, [2,2]
store 0x918c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8964
store 0x9190
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8988
store 0x9194
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89ac
store 0x9198
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89d0
store 0x919c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x89f4
store 0x91a0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a18
store 0x91a4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a3c
store 0x91a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a60
store 0x91ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8a84
store 0x91b0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8aa8
store 0x91b4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8acc
store 0x91b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8af0
store 0x91bc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b14
store 0x91c0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b38
store 0x91c4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b5c
store 0x91c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8b80
store 0x91cc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ba4
store 0x91d0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bc8
store 0x91d4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8bec
store 0x91d8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c10
store 0x91dc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c34
store 0x91e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c58
store 0x91e4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8c7c
store 0x91e8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ca0
store 0x91ec
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8cc4
store 0x91f0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ce8
store 0x91f4
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d0c
store 0x91f8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d30
store 0x91fc
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d54
store 0x9200
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d78
store 0x9204
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8d9c
store 0x9208
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8dc0
store 0x920c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8de4
store 0x9210
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e08
store 0x9214
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e2c
store 0x9218
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e50
store 0x921c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e74
store 0x9220
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8e98
store 0x9224
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ebc
store 0x9228
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8ee0
store 0x922c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f04
store 0x9230
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f28
store 0x9234
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f4c
store 0x9238
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f70
store 0x923c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8f94
store 0x9240
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fb8
store 0x9244
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x8fdc
store 0x9248
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9000
store 0x924c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9024
store 0x9250
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9048
store 0x9254
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x906c
store 0x9258
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9090
store 0x925c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90b4
store 0x9260
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90d8
store 0x9264
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x90fc
store 0x9268
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9120
store 0x926c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9144
store 0x9270
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x9168
store 0x9274
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [30,4,32]
@mem.ifm 2, 4
ld.ifm 0x918c
store 0x9278
# dense1, images 480 to 539
@shape.ofm [30,1,64]
ld.bias 0xce
@shape.ker 4
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
ld.ifm 0x9204
@mem.ofm 2, [30,1]
@pool [1,1], [1,1]
store 0x891c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[0,3], ker:3
@shape.ifm [30,1,64]
@mem.ifm 2, 1
ld.ifm 0x891c
store 0x893a
# dense2, images 480 to 539
@shape.ofm [30,1,16]
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
ld.ifm 0x893a
@post pool
store 0x88e0
conv.bias ifm:[0,0], ker:0
store 0x88fe
end
