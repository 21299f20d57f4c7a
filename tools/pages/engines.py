# SPDX-License-Identifier: BSD-2-Clause
"""What stands in the block diagram of each core: units of the engine that larger FPGAs get, each a class of the code, and who feeds whom."""

__all__ = ["ENGINES"]

#: ISA -> (boxes, wires, what a dashed frame holds). A box: name -> (column, row, title, what it does, module below the engine and class). Wires go from a box
#: to a box; ``memory`` is main memory.
ENGINES = {
    "opentpu": ({
        "fetch": (0, 0, "fetch", "words of 14 bytes", "fetch:Fetch"), "decode": (1, 0, "decode", "checks, order, chaining", "decode:Decode"),
        "load": (2, 0, "load unit", "RHM", "load_store:LoadUnit"), "weights": (2, 2, "weight unit", "RW, weight FIFO", "load_store:WeightUnit"),
        "ub": (3, 0, "unified buffer", "bytes, two banks", "buffers:BankedBuffer"), "array": (3, 1, "systolic array", "weights stay, inputs pass", "array:SystolicArray"),
        "matrix": (2, 1, "matrix unit", "MMC", "matrix:MatrixUnit"), "acc": (3, 2, "accumulators", "32 bits, added in place", "buffers:BankedBuffer"),
        "act": (4, 1, "activation unit", "ACT: relu, shift, saturate", "actunit:ActivationUnit"), "store": (4, 2, "store unit", "WHM", "load_store:StoreUnit")},
        [("memory", "fetch"), ("fetch", "decode"), ("decode", "load"), ("load", "ub"), ("decode", "matrix"), ("matrix", "array"), ("ub", "array"), ("weights", "array"),
         ("array", "acc"), ("acc", "act"), ("act", "ub"), ("ub", "store"), ("store", "memory")]),
    "opu": ({
        "fetch": (0, 0, "fetch", "reads ahead", "front.fetch:Fetch"), "decode": (1, 0, "decode", "all checks without data", "front.decode:Decode"),
        "convs": (2, 0, "convolution queue", "with their dependencies", "compute.convqueue:ConvQueue"), "dma": (2, 2, "DMA", "loads, stores, zero borders", "transfer.dma:DMA"),
        "order": (2, 1, "scoreboard", "banks and the kernel ring", "scoreboard:Scoreboard"), "ifm": (3, 1, "input maps", "banks of lines", "compute.buffers:IfmBuffer"),
        "ker": (3, 2, "kernel ring", "one tap a slot", "compute.buffers:KernelRing"), "lanes": (4, 0, "convolution lanes", "one tap an instruction", "compute.lanes:ConvLanes"),
        "post": (4, 1, "post unit", "bias, residual, pool, relu", "compute.postunit:PostUnit"), "ofm": (4, 2, "output maps", "until they are stored", "compute.buffers:OfmBuffer")},
        [("memory", "fetch"), ("fetch", "decode"), ("decode", "convs"), ("decode", "order"), ("order", "dma"), ("convs", "lanes"), ("dma", "ifm"), ("ifm", "lanes"), ("dma", "ker"),
         ("ker", "lanes"), ("lanes", "post"), ("post", "ofm"), ("ofm", "memory"), ("memory", "dma")]),
    "pim": ({
        "load": (0, 0, "LOAD", "programs and arrays", "load.load:Load"), "prefetch": (1, 0, "code buffer", "one program a core", "front.prefetch:Prefetch"),
        "issue": (2, 0, "issue", "scalars, addresses, order", "front.issue:Issue"), "board": (2, 1, "scoreboard", "reads and writes in flight", "front.scoreboard:Scoreboard"),
        "matrix": (3, 0, "matrix unit", "groups of fixed weights", "matrix.unit:MatrixUnit"), "vector": (3, 1, "vector unit", "adds, products, tables", "vector.unit:VectorUnit"),
        "transfer": (3, 2, "transfer unit", "ld, st, send, recv", "transfer.unit:TransferUnit"), "lmem": (4, 1, "local memory", "banks", "memory.lmem:LocalMemory"),
        "bar": (2, 2, "crossbar", "send meets recv", "crossbar:Crossbar"), "events": (1, 2, "events, deadlock", "sync, wait, end of run", "events:Events")},
        [("memory", "load"), ("load", "prefetch"), ("prefetch", "issue"), ("issue", "matrix"), ("issue", "board"), ("issue", "vector"), ("issue", "transfer"),
         ("matrix", "lmem"), ("vector", "lmem"), ("transfer", "lmem"), ("bar", "transfer"), ("transfer", "memory")]),
    "imagine": ({
        "fetch": (0, 0, "fetch", "program with its data", "fetch:Fetch"), "decode": (2, 0, "decoder", "words to operations", "decode:Decoder"),
        "dispatch": (1, 0, "FIFO-in, dispatch", "into the array's clock", "dispatch:Dispatch"), "issue": (3, 0, "issue", "start times", "issue:Issue"),
        "control": (4, 0, "controller", "signals of every slot", "controller:Controller"), "array": (4, 1, "array", "rows x columns of blocks", "array:Array"),
        "bank": (4, 2, "block", "bit-serial, inside a RAM", "block:Bank"), "columns": (3, 1, "column registers", "shift results out", "columns:ColumnRegisters"),
        "drain": (1, 1, "FIFO-out, drain", "words to memory", "drain:Drain")},
        [("memory", "fetch"), ("fetch", "dispatch"), ("dispatch", "decode"), ("decode", "issue"), ("issue", "control"), ("control", "array"), ("array", "bank"), ("array", "columns"),
         ("columns", "drain"), ("drain", "memory")]),
    "cherry": ({
        "seq": (0, 0, "sequencer", "lists of programs and DMA", "run.sequencer:Sequencer"), "front": (1, 0, "front end", "instructions of a body", "front.frontend:FrontEnd"),
        "loops": (1, 1, "loops", "nests, contexts", "front.loops:Loops"), "apu": (2, 1, "address units", "affine in the loops", "front.apu:AddressUnits"),
        "lsu": (2, 0, "load and store", "tiles and matrices", "units.lsu:LoadStore"), "mem": (3, 1, "scratchpad", "banks of 18-bit floats", "memory.scratchpad:Scratchpad"),
        "mover": (3, 2, "mover", "four formats", "memory.mover:Mover"), "tiles": (3, 0, "tile file", "4x4 tiles, progress", "memory.tilefile:TileFile"),
        "dot": (4, 0, "dot unit", "products of tiles", "units.dotunit:DotUnit"), "sfu": (4, 1, "special functions", "exp, log, reciprocal", "units.sfu:SpecialLane"),
        "alu": (4, 2, "vector ALU", "rows of elements", "units.alurows:AluRows")},
        [("memory", "seq"), ("seq", "front"), ("front", "loops"), ("loops", "apu"), ("front", "lsu"), ("apu", "lsu"), ("lsu", "tiles"), ("mover", "mem"), ("mem", "lsu"), ("memory", "mover"),
         ("tiles", "dot"), ("tiles", "sfu"), ("tiles", "alu")]),
}
