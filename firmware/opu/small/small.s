# The worked job of the specification, section 7.5.
@mem.ifm 1, 6
@mem.ker 2
@mem.bias 2
@mem.ofm 3, [4,4]
@shape.ifm [6,6,16]
@shape.ofm [4,4,4]
@shape.ker 9
@stride [1,1]
@shift -1, 2
@post act.leaky, pool
@pool [2,2], [2,2]
ld.ifm 0
ld.ker 0
ld.bias 0x1000/64
conv.bias ifm:[0,0], ker:0
conv.acc ifm:[0,1], ker:1
conv.acc ifm:[0,2], ker:2
conv.acc ifm:[1,0], ker:3
conv.acc ifm:[1,1], ker:4
conv.acc ifm:[1,2], ker:5
conv.acc ifm:[2,0], ker:6
conv.acc ifm:[2,1], ker:7
conv.acc ifm:[2,2], ker:8
store 5             ; the first position inside the border
pad 0, 1
end
