# Handwritten digits, a CNN 3x3 1-16, 3x3 16-32, 128-64, 64-10: 10 held-out images.
# Kept as a program: its first layer's taps are folded into channels of the input.
# conv1, images 0 to 1
@shape.ofm [4,8,16]
@shape.ifm [4,8,16]
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
pad 0x28a, 1
pad 0x2ae, 1
ld.ifm 0x20
@post act.relu, pool
@pool [2,2], [2,2]
store 0x291
conv.bias ifm:[0,0], ker:0
ld.ifm 0x40
store 0x29d
conv.bias ifm:[0,0], ker:0
ld.ifm 0x60
store 0x2b5
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x28a
store 0x2c1
# conv2, images 0 to 1
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 5
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
ld.ifm 0x2ae
@shape.ker 5
ld.ker 0x5
@mem.ofm 2, [2,2]
store 0x2d2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
store 0x2d6
# dense1, images 0 to 1
@shape.ofm [2,1,64]
@shape.ifm [2,4,32]
@mem.ifm 2, 4
ld.ifm 0x2d2
ld.bias 0xce
@shape.ker 2
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
ld.ker 0x8e
conv.acc ifm:[0,2], ker:0
conv.acc ifm:[0,3], ker:1
@mem.ofm 2, [2,1]
@pool [1,1], [1,1]
store 0x28a
# dense2, images 0 to 1
@shape.ofm [2,1,16]
@shape.ifm [2,1,64]
@mem.ifm 2, 1
ld.ifm 0x28a
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
@shape.ifm [4,8,16]
@mem.ifm 2, 8
ld.ifm 0x80
ld.bias 0x4
@post pool
store 0x280
# conv1, images 2 to 3
@shape.ofm [4,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x28a, 1
ld.ifm 0xa0
@post act.relu, pool
@pool [2,2], [2,2]
store 0x291
conv.bias ifm:[0,0], ker:0
ld.ifm 0xc0
store 0x29d
conv.bias ifm:[0,0], ker:0
ld.ifm 0xe0
store 0x2b5
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x28a
store 0x2c1
# conv2, images 2 to 3
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 5
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
ld.ifm 0x2ae
@shape.ker 5
ld.ker 0x5
@mem.ofm 2, [2,2]
store 0x2d2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
store 0x2d6
# dense1, images 2 to 3
@shape.ofm [2,1,64]
@shape.ifm [2,4,32]
@mem.ifm 2, 4
ld.ifm 0x2d2
ld.bias 0xce
@shape.ker 2
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
ld.ker 0x8e
conv.acc ifm:[0,2], ker:0
conv.acc ifm:[0,3], ker:1
@mem.ofm 2, [2,1]
@pool [1,1], [1,1]
store 0x28a
# dense2, images 2 to 3
@shape.ofm [2,1,16]
@shape.ifm [2,1,64]
@mem.ifm 2, 1
ld.ifm 0x28a
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
@shape.ifm [4,8,16]
@mem.ifm 2, 8
ld.ifm 0x100
ld.bias 0x4
@post pool
store 0x282
# conv1, images 4 to 5
@shape.ofm [4,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x28a, 1
ld.ifm 0x120
@post act.relu, pool
@pool [2,2], [2,2]
store 0x291
conv.bias ifm:[0,0], ker:0
ld.ifm 0x140
store 0x29d
conv.bias ifm:[0,0], ker:0
ld.ifm 0x160
store 0x2b5
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x28a
store 0x2c1
# conv2, images 4 to 5
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 5
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
ld.ifm 0x2ae
@shape.ker 5
ld.ker 0x5
@mem.ofm 2, [2,2]
store 0x2d2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
store 0x2d6
# dense1, images 4 to 5
@shape.ofm [2,1,64]
@shape.ifm [2,4,32]
@mem.ifm 2, 4
ld.ifm 0x2d2
ld.bias 0xce
@shape.ker 2
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
ld.ker 0x8e
conv.acc ifm:[0,2], ker:0
conv.acc ifm:[0,3], ker:1
@mem.ofm 2, [2,1]
@pool [1,1], [1,1]
store 0x28a
# dense2, images 4 to 5
@shape.ofm [2,1,16]
@shape.ifm [2,1,64]
@mem.ifm 2, 1
ld.ifm 0x28a
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
@shape.ifm [4,8,16]
@mem.ifm 2, 8
ld.ifm 0x180
ld.bias 0x4
@post pool
store 0x284
# conv1, images 6 to 7
@shape.ofm [4,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x28a, 1
ld.ifm 0x1a0
@post act.relu, pool
@pool [2,2], [2,2]
store 0x291
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1c0
store 0x29d
conv.bias ifm:[0,0], ker:0
ld.ifm 0x1e0
store 0x2b5
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x28a
store 0x2c1
# conv2, images 6 to 7
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 5
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
ld.ifm 0x2ae
@shape.ker 5
ld.ker 0x5
@mem.ofm 2, [2,2]
store 0x2d2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
store 0x2d6
# dense1, images 6 to 7
@shape.ofm [2,1,64]
@shape.ifm [2,4,32]
@mem.ifm 2, 4
ld.ifm 0x2d2
ld.bias 0xce
@shape.ker 2
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
ld.ker 0x8e
conv.acc ifm:[0,2], ker:0
conv.acc ifm:[0,3], ker:1
@mem.ofm 2, [2,1]
@pool [1,1], [1,1]
store 0x28a
# dense2, images 6 to 7
@shape.ofm [2,1,16]
@shape.ifm [2,1,64]
@mem.ifm 2, 1
ld.ifm 0x28a
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
@shape.ifm [4,8,16]
@mem.ifm 2, 8
ld.ifm 0x200
ld.bias 0x4
@post pool
store 0x286
# conv1, images 8 to 9
@shape.ofm [4,8,16]
ld.ker 0x0
@shift 3, -1
conv.bias ifm:[0,0], ker:0
@mem.ofm 2, [6,6]
pad 0x28a, 1
ld.ifm 0x220
@post act.relu, pool
@pool [2,2], [2,2]
store 0x291
conv.bias ifm:[0,0], ker:0
ld.ifm 0x240
store 0x29d
conv.bias ifm:[0,0], ker:0
ld.ifm 0x260
store 0x2b5
conv.bias ifm:[0,0], ker:0
@shape.ifm [6,6,16]
@mem.ifm 2, 6
ld.ifm 0x28a
store 0x2c1
# conv2, images 8 to 9
@shape.ofm [4,4,32]
ld.bias 0x4d
@shape.ker 5
ld.ker 0x5
@shift 0, -2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
ld.ifm 0x2ae
@shape.ker 5
ld.ker 0x5
@mem.ofm 2, [2,2]
store 0x2d2
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
@shape.ker 4
ld.ker 0x2d
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[2,0], ker:1
conv.acc ifm:[2,1], ker:2
conv.acc ifm:[2,2], ker:3
store 0x2d6
# dense1, images 8 to 9
@shape.ofm [2,1,64]
@shape.ifm [2,4,32]
@mem.ifm 2, 4
ld.ifm 0x2d2
ld.bias 0xce
@shape.ker 2
ld.ker 0x4e
@shift 0, -3
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
ld.ker 0x8e
conv.acc ifm:[0,2], ker:0
conv.acc ifm:[0,3], ker:1
@mem.ofm 2, [2,1]
@pool [1,1], [1,1]
store 0x28a
# dense2, images 8 to 9
@shape.ofm [2,1,16]
@shape.ifm [2,1,64]
@mem.ifm 2, 1
ld.ifm 0x28a
ld.bias 0xe0
@shape.ker 1
ld.ker 0xd0
@shift 0, -4
conv.bias ifm:[0,0], ker:0
@post pool
store 0x288
end
