# A network of ResNet-20's shapes, random weights, scheduled in tiles: 40.8 M multiplications.
# Kept as a program, a benchmark of the core.
# first
@shape.ofm [11,32,16]
@shape.ifm [13,34,16]
@mem.ifm 2, 34
ld.ifm 0x0
@mem.bias 1
ld.bias 0x24
@shape.ker 9
@mem.ker 1
ld.ker 0x0
@shift 1, 0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@mem.ofm 2, [34,34]
pad 0x485, 1
ld.ifm 0x176
@post act.relu, pool
store 0x4a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x2ca
store 0x61e
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [10,34,16]
ld.ifm 0x485
ld.bias 0x49
store 0x772
# stage1.1.a
@shape.ofm [8,32,16]
ld.ker 0x25
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
pad 0x909, 1
ld.ifm 0x595
store 0x92c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x6a5
store 0xa3c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x7b5
store 0xb4c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [18,34,16]
ld.ifm 0x909
ld.bias 0x6e
store 0xc5c
# stage1.1.b
@shape.ofm [16,32,16]
ld.ker 0x4a
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
pad 0xd8d, 1
@shape.ifm [16,32,16]
ld.ifm 0x4a8
@post res, act.relu, pool
store 0xdb0
@shape.ifm [18,34,16]
ld.ifm 0xb29
ld.ker 0x4a
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [16,32,16]
ld.ifm 0x6c8
ld.bias 0x93
store 0xfd0
# stage1.2.a
@shape.ofm [8,32,16]
@shape.ifm [10,34,16]
ld.ifm 0xd8d
ld.ker 0x6f
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0xe9d
@post act.relu, pool
store 0x4a8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0xfad
store 0x5b8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x10bd
store 0x6c8
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [18,34,16]
ld.ifm 0x485
ld.bias 0xb8
store 0x7d8
# stage1.2.b
@shape.ofm [16,32,16]
ld.ker 0x94
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [16,32,16]
ld.ifm 0xdb0
@post res, act.relu, pool
store 0x92c
@shape.ifm [18,34,16]
ld.ifm 0x6a5
ld.ker 0x94
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [16,32,16]
ld.ifm 0xfd0
ld.bias 0xdd
store 0xb4c
# stage1.3.a
@shape.ofm [8,32,16]
@shape.ifm [10,34,16]
ld.ifm 0x909
ld.ker 0xb9
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0xa19
@post act.relu, pool
store 0xdb0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0xb29
store 0xec0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0xc39
store 0xfd0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [18,34,16]
ld.ifm 0xd8d
ld.bias 0x102
store 0x10e0
# stage1.3.b
@shape.ofm [16,32,16]
ld.ker 0xde
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [16,32,16]
ld.ifm 0x92c
@post res, act.relu, pool
store 0x4a8
@shape.ifm [18,34,16]
ld.ifm 0xfad
ld.ker 0xde
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [16,32,16]
ld.ifm 0xb4c
store 0x6c8
# stage2.1.shortcut and stage2.1.a
@shape.ofm [4,16,32]
@shape.ifm [9,33,16]
ld.ifm 0x485
ld.bias 0x153
@shape.ker 10
ld.ker 0x103
@stride [2,2]
conv.bias ifm:[1,1], ker:0
ld.bias 0x154
@mem.ofm 2, [16,16]
@post pool
store 0xa4d
conv.bias ifm:[0,0], ker:1
conv.acc ifm:[0,1], ker:2
conv.acc ifm:[0,2], ker:3
conv.acc ifm:[1,0], ker:4
conv.acc ifm:[1,1], ker:5
conv.acc ifm:[1,2], ker:6
conv.acc ifm:[2,0], ker:7
conv.acc ifm:[2,1], ker:8
conv.acc ifm:[2,2], ker:9
@mem.ofm 2, [18,18]
pad 0x909, 1
ld.ifm 0x595
ld.bias 0x153
@post act.relu, pool
store 0x91c
conv.bias ifm:[1,1], ker:0
ld.bias 0x154
@mem.ofm 2, [16,16]
@post pool
store 0xa8d
conv.bias ifm:[0,0], ker:1
conv.acc ifm:[0,1], ker:2
conv.acc ifm:[0,2], ker:3
conv.acc ifm:[1,0], ker:4
conv.acc ifm:[1,1], ker:5
conv.acc ifm:[1,2], ker:6
conv.acc ifm:[2,0], ker:7
conv.acc ifm:[2,1], ker:8
conv.acc ifm:[2,2], ker:9
ld.ifm 0x6a5
ld.bias 0x153
@mem.ofm 2, [18,18]
@post act.relu, pool
store 0x964
conv.bias ifm:[1,1], ker:0
ld.bias 0x154
@mem.ofm 2, [16,16]
@post pool
store 0xacd
conv.bias ifm:[0,0], ker:1
conv.acc ifm:[0,1], ker:2
conv.acc ifm:[0,2], ker:3
conv.acc ifm:[1,0], ker:4
conv.acc ifm:[1,1], ker:5
conv.acc ifm:[1,2], ker:6
conv.acc ifm:[2,0], ker:7
conv.acc ifm:[2,1], ker:8
conv.acc ifm:[2,2], ker:9
ld.ifm 0x7b5
ld.bias 0x153
@mem.ofm 2, [18,18]
@post act.relu, pool
store 0x9ac
conv.bias ifm:[1,1], ker:0
ld.bias 0x154
@mem.ofm 2, [16,16]
@post pool
store 0xb0d
conv.bias ifm:[0,0], ker:1
conv.acc ifm:[0,1], ker:2
conv.acc ifm:[0,2], ker:3
conv.acc ifm:[1,0], ker:4
conv.acc ifm:[1,1], ker:5
conv.acc ifm:[1,2], ker:6
conv.acc ifm:[2,0], ker:7
conv.acc ifm:[2,1], ker:8
conv.acc ifm:[2,2], ker:9
@shape.ifm [10,18,32]
@mem.ifm 2, 18
ld.ifm 0x909
ld.bias 0x1e5
@mem.ofm 2, [18,18]
@post act.relu, pool
store 0x9f4
# stage2.1.b
@shape.ofm [8,16,32]
@shape.ker 9
ld.ker 0x155
@stride [1,1]
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
pad 0x485, 1
@mem.ifm 2, 16
ld.ifm 0xa4d
@post res, act.relu, pool
store 0x498
@mem.ifm 2, 18
ld.ifm 0x999
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@mem.ifm 2, 16
ld.ifm 0xacd
ld.bias 0x276
store 0x528
# stage2.2.a
@shape.ofm [4,16,32]
@shape.ifm [6,18,32]
@mem.ifm 2, 18
ld.ifm 0x485
ld.ker 0x1e6
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x4cd
@post act.relu, pool
store 0x91c
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x515
store 0x964
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x55d
store 0x9ac
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [10,18,32]
ld.ifm 0x909
ld.bias 0x307
store 0x9f4
# stage2.2.b
@shape.ofm [8,16,32]
ld.ker 0x277
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
pad 0x5c9, 1
ld.ifm 0x498
@post res, act.relu, pool
store 0x5dc
ld.ifm 0x999
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x528
ld.bias 0x398
store 0x66c
# stage2.3.a
@shape.ofm [4,16,32]
@shape.ifm [6,18,32]
ld.ifm 0x5c9
ld.ker 0x308
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x611
@post act.relu, pool
store 0x498
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x659
store 0x4e0
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x6a1
store 0x528
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@shape.ifm [10,18,32]
ld.ifm 0x485
ld.bias 0x429
store 0x570
# stage2.3.b
@shape.ofm [8,16,32]
ld.ker 0x399
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x5dc
@post res, act.relu, pool
store 0x91c
ld.ifm 0x515
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
ld.ifm 0x66c
store 0x9ac
# stage3.1.a
@shape.ofm [8,8,64]
@shape.ifm [17,17,32]
ld.ifm 0x909
ld.bias 0x54a
ld.ker 0x42a
@stride [2,2]
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
@mem.ofm 2, [10,10]
pad 0x485, 1
@shape.ifm [8,15,32]
@mem.ifm 2, 36
ld.ifm 0x91c
ld.bias 0x56c
@shape.ker 1
ld.ker 0x54c
@post act.relu, pool
store 0x490
# stage3.1.shortcut
@stride [1,2]
conv.bias ifm:[0,0], ker:0
@shape.ifm [10,10,64]
@mem.ifm 2, 10
ld.ifm 0x485
ld.bias 0x7ae
@shape.ker 3
ld.ker 0x56e
@mem.ofm 2, [8,8]
@post pool
store 0x4e9
# stage3.1.b
@stride [1,1]
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
ld.ker 0x62e
conv.acc ifm:[1,0], ker:0
conv.acc ifm:[1,1], ker:1
conv.acc ifm:[1,2], ker:2
ld.ker 0x6ee
conv.acc ifm:[2,0], ker:0
conv.acc ifm:[2,1], ker:1
conv.acc ifm:[2,2], ker:2
@mem.ofm 2, [10,10]
pad 0x529, 1
@mem.ifm 2, 8
ld.ifm 0x4e9
ld.bias 0x9f0
ld.ker 0x7b0
@post res, act.relu, pool
store 0x534
# stage3.2.a
@mem.ifm 2, 10
ld.ifm 0x529
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
ld.ker 0x870
conv.acc ifm:[1,0], ker:0
conv.acc ifm:[1,1], ker:1
conv.acc ifm:[1,2], ker:2
ld.ker 0x930
conv.acc ifm:[2,0], ker:0
conv.acc ifm:[2,1], ker:1
conv.acc ifm:[2,2], ker:2
ld.bias 0xc32
ld.ker 0x9f2
@post act.relu, pool
store 0x490
# stage3.2.b
ld.ifm 0x485
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
ld.ker 0xab2
conv.acc ifm:[1,0], ker:0
conv.acc ifm:[1,1], ker:1
conv.acc ifm:[1,2], ker:2
ld.ker 0xb72
conv.acc ifm:[2,0], ker:0
conv.acc ifm:[2,1], ker:1
conv.acc ifm:[2,2], ker:2
pad 0x58d, 1
ld.ifm 0x534
ld.bias 0xe74
ld.ker 0xc34
@post res, act.relu, pool
store 0x598
# stage3.3.a
ld.ifm 0x58d
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
ld.ker 0xcf4
conv.acc ifm:[1,0], ker:0
conv.acc ifm:[1,1], ker:1
conv.acc ifm:[1,2], ker:2
ld.ker 0xdb4
conv.acc ifm:[2,0], ker:0
conv.acc ifm:[2,1], ker:1
conv.acc ifm:[2,2], ker:2
ld.bias 0x10b6
ld.ker 0xe76
@post act.relu, pool
store 0x534
# stage3.3.b
ld.ifm 0x529
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
ld.ker 0xf36
conv.acc ifm:[1,0], ker:0
conv.acc ifm:[1,1], ker:1
conv.acc ifm:[1,2], ker:2
ld.ker 0xff6
conv.acc ifm:[2,0], ker:0
conv.acc ifm:[2,1], ker:1
conv.acc ifm:[2,2], ker:2
ld.ifm 0x598
@mem.ofm 2, [8,8]
@post res, act.relu, pool
store 0x4e9
# average
@shape.ofm [1,1,64]
@shape.ifm [8,8,64]
@mem.ifm 2, 8
ld.ifm 0x4e9
@shape.ker 1
ld.ker 0x10b8
@shift 3, 0
conv ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:0
conv.acc ifm:[0,2], ker:0
conv.acc ifm:[0,3], ker:0
conv.acc ifm:[0,4], ker:0
conv.acc ifm:[0,5], ker:0
conv.acc ifm:[0,6], ker:0
conv.acc ifm:[0,7], ker:0
conv.acc ifm:[1,0], ker:0
conv.acc ifm:[1,1], ker:0
conv.acc ifm:[1,2], ker:0
conv.acc ifm:[1,3], ker:0
conv.acc ifm:[1,4], ker:0
conv.acc ifm:[1,5], ker:0
conv.acc ifm:[1,6], ker:0
conv.acc ifm:[1,7], ker:0
conv.acc ifm:[2,0], ker:0
conv.acc ifm:[2,1], ker:0
conv.acc ifm:[2,2], ker:0
conv.acc ifm:[2,3], ker:0
conv.acc ifm:[2,4], ker:0
conv.acc ifm:[2,5], ker:0
conv.acc ifm:[2,6], ker:0
conv.acc ifm:[2,7], ker:0
conv.acc ifm:[3,0], ker:0
conv.acc ifm:[3,1], ker:0
conv.acc ifm:[3,2], ker:0
conv.acc ifm:[3,3], ker:0
conv.acc ifm:[3,4], ker:0
conv.acc ifm:[3,5], ker:0
conv.acc ifm:[3,6], ker:0
conv.acc ifm:[3,7], ker:0
conv.acc ifm:[4,0], ker:0
conv.acc ifm:[4,1], ker:0
conv.acc ifm:[4,2], ker:0
conv.acc ifm:[4,3], ker:0
conv.acc ifm:[4,4], ker:0
conv.acc ifm:[4,5], ker:0
conv.acc ifm:[4,6], ker:0
conv.acc ifm:[4,7], ker:0
conv.acc ifm:[5,0], ker:0
conv.acc ifm:[5,1], ker:0
conv.acc ifm:[5,2], ker:0
conv.acc ifm:[5,3], ker:0
conv.acc ifm:[5,4], ker:0
conv.acc ifm:[5,5], ker:0
conv.acc ifm:[5,6], ker:0
conv.acc ifm:[5,7], ker:0
conv.acc ifm:[6,0], ker:0
conv.acc ifm:[6,1], ker:0
conv.acc ifm:[6,2], ker:0
conv.acc ifm:[6,3], ker:0
conv.acc ifm:[6,4], ker:0
conv.acc ifm:[6,5], ker:0
conv.acc ifm:[6,6], ker:0
conv.acc ifm:[6,7], ker:0
conv.acc ifm:[7,0], ker:0
conv.acc ifm:[7,1], ker:0
conv.acc ifm:[7,2], ker:0
conv.acc ifm:[7,3], ker:0
conv.acc ifm:[7,4], ker:0
conv.acc ifm:[7,5], ker:0
conv.acc ifm:[7,6], ker:0
conv.acc ifm:[7,7], ker:0
@mem.ofm 2, [1,1]
@post pool
store 0x485
# classes
@shape.ofm [1,1,16]
@shape.ifm [1,1,64]
@mem.ifm 2, 1
ld.ifm 0x485
ld.bias 0x1108
ld.ker 0x10f8
@shift -1, -1
conv.bias ifm:[0,0], ker:0
store 0x484
end
