# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of components: every bound that a constructor states is refused from just outside, with
its message."""

import ast
import re
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

import quintet.gateware
from quintet.gateware.cores import open_core
from quintet.gateware.memory.blockram import BlockRAMMemory
from quintet.gateware.shell.engine import EngineControl

GATEWARE = Path(quintet.gateware.__file__).parent
PARAMS = {name: open_core(name).params.SPACE.resolve("sim") for name in ("cherry", "pim")}
FAMILY = "Family must be one of None, 'ecp5', 'ice40'"
#: Constructors, "family" behind those that take one, each with its arguments: a value that is
#: taken, and the message for any other.
COMPONENTS = """
bus.axilite.AXI4LiteFront
    addr_width = 16: Address bits must be an integer from 3 to 32
bus.masters.axi4.AXI4Master
    beat_bytes = 8: Beat size must be 1, 2, 4, 8 or 16 bytes
    base = 0: Base of the memory on the bus must be a multiple of 8 from 0 to 2^32 - 1 bytes
    burst = 16: Beats of a burst must be a power of two from 1 to 256
    outstanding = 2: Bursts under way must be an integer from 1 to 32
    buffer = 64: Beats of the read buffer must be an integer from 16 to 4096
bus.masters.native.NativeMaster
    beat_bytes = 8: Beat size must be 1, 2, 4, 8 or 16 bytes
    base = 0: Base of the memory on the bus must be a multiple of 8 from 0 to 2^32 - 1 bytes
    outstanding = 2: Requests under way must be an integer from 1 to 32
    buffer = 64: Beats of the read buffer must be an integer from 2 to 4096
    writes = 32: Beats of the write buffer must be a power of two from 16 to 512
bus.masters.wishbone.WishboneMaster
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
    base = 0: Base of the memory on the bus must be a multiple of 4 from 0 to 2^32 - 1 bytes
    hold = 16: Beats before cyc falls must be an integer from 1 to 65536
bus.registers.SoCRegisters
    reset_delay_bits = 4: Reset delay must be an integer from 1 to 32 bits
bus.rom.ROM
    size = 8: Size of a ROM must be a power of two of at least 8
bus.signatures.AXI4
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
bus.signatures.NativePort
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
bus.watchdog.BusWatchdog
    limit = 64: Limit of a bus cycle must be a power of two of at least 16
cores.cherry.engine.memory.scratchpad.Scratchpad
    lanes = 1: Lanes must be 1 or 2
cores.cherry.engine.memory.mover.Mover
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
cores.cherry.engine.run.wordreader.WordReader
    beat_bytes = 4: Beat size must be 1, 2, 4, 8, 16, 32 or 64 bytes
cores.cherry.engine.units.dotunit.DotUnit
    latency = 16: Latency must be an integer from 10 to 16 cycles
cores.pim.engine.deadlock.DeadlockDetector
    cores = 2: Number of cores must be an integer from 1 to 32
cores.pim.engine.events.EventFile
    sources = 2: Number of sources must be an integer from 1 to 32
    events = 4: Number of events must be an integer from 2 to 32
cores.pim.engine.front.issue.Issue
    number = 0: Number of the core must be an integer from 0 to 1
cores.pim.engine.front.legality.Operands family
    memory_size = 65536: Memory size must be a positive multiple of 64 up to 2^32
cores.pim.engine.front.prefetch.Prefetch
    beat_bytes = 4: Beat size must be 1, 2, 4 or 8 bytes
    memory_size = 65536: Memory size must be a positive multiple of 64 up to 2^32
cores.pim.engine.front.wordload.WordLoad
    beat_bytes = 4: Beat size must be 1, 2, 4 or 8 bytes
cores.pim.engine.faults.RunEnd family
cores.pim.engine.load.groups.GroupStore family
cores.pim.engine.matrix.bias.Addends family
cores.pim.engine.matrix.input.InputSelect family
cores.pim.engine.matrix.lanes.MatrixLanes family
cores.pim.engine.matrix.unit.MatrixUnit family
cores.pim.engine.matrix.weights.WeightMemory family
cores.pim.engine.memory.lmem.LocalMemory family
cores.pim.engine.vector.products.VectorProducts family
cores.pim.engine.vector.unit.VectorUnit family
cores.pim.engine.matrix.post.MatrixPost family
cores.pim.engine.load.load.Load family
    beat_bytes = 4: Beat size must be 1, 2, 4 or 8 bytes
cores.pim.engine.transfer.ledger.MacCount family
cores.pim.engine.transfer.unit.TransferUnit family
    beat_bytes = 4: Beat size must be 1, 2, 4 or 8 bytes
cores.pim.engine.tree.PortTree
    ports = 4: Number of ports must be an integer from 1 to 256
cores.pim.engine.vector.activation.Activation family
    bits = 16: Bits of an input element must be an integer from 1 to 32
cores.pim.engine.vector.divider.AverageDivider family
    bits = 16: Bits of an element must be an integer from 1 to 64
link.bridge.LinkBridge family
    info_address = 0: info_address must be a multiple of 4 from 0 to 2^32 - 1
    buffer = 1024: buffer must be a power of two from 1024 to 32768
link.framing.FrameReceiver
    depth = 512: depth must be a power of two of at least 512
link.framing.FrameTransmitter
    depth = 512: depth must be a power of two of at least 512
link.uartbone.UARTBone
    clock_hz = 48000000: Main clock must be an integer of at least 10 Hz
link.usb.identity.USBIdentity
    vendor = 4617: vendor must be an integer from 0 to 65535
    product_number = 1: product_number must be an integer from 0 to 65535
memory.arbiter.MemoryArbiter
    ports = 2: Number of ports must be an integer from 1 to 16
    outstanding = 4: Number of outstanding requests must be an integer from 1 to 64
memory.beatwords.BeatsToWords
    beat_bytes = 4: Beat size must be 1, 2, 4, 8, 16, 32 or 64 bytes
memory.blockram.BlockRAMMemory
    size = 16: Size must be a multiple of 4 from 4 to 2^32 bytes
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
memory.ddr3.gate.RequestGate
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
    size = 65536: Size must be a multiple of 4 from 4 to 2^32 bytes
    outstanding = 4: Number of outstanding requests must be an integer from 1 to 64
memory.ddr3.memory.DDR3Memory
    beat_bytes = 4: Beat size must be 2, 4, 8 or 16 bytes
memory.ddr3.sequencer.DDR3Sequencer
    delays = 8: Number of delays must be an integer from 2 to 64
    slips = 8: Number of bit slips must be an integer from 1 to 64
memory.front.WishboneFront
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
    size = 65536: Size must be a power of two from 8 to 2^32
memory.guard.WindowGuard
    beat_bytes = 4: Beat size must be 1, 2, 4, 8, 16, 32 or 64 bytes
    outstanding = 4: Number of outstanding requests must be an integer from 1 to 63
memory.partial.PartialWrites
    beat_bytes = 4: Beat size must be 2, 4, 8 or 16 bytes
    chunk = 16: Chunk must be a power of two from 2 to 256 beats
memory.pipelined.PipelinedBlockRAM
    size = 4096: Size must be a multiple of 4 from 4 to 2^32 bytes
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
memory.port.MemoryPort
    beat_bytes = 4: Beat size must be an integer from 1 to 128 bytes
memory.sdram.controller.SDRAMController
    capture = 1: Capture delay must be an integer from 0 to 3 cycles
memory.split.MemorySplit
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
    size = 1048576: Size must be a multiple of 4 from 4 to 2^31 bytes
    border = 4096: Border must be a multiple of 64 from 64 to 1048575 bytes
    outstanding = 4: Number of outstanding requests must be an integer from 2 to 64
memory.spram.SPRAMMemory
    size = 131072: Size must be a multiple of 65536 from 65536 to 131072
    beat_bytes = 4: Beat size of an SPRAM memory must be 2 or 4 bytes
memory.sram.controller.SRAMController
    beat_bytes = 2: Beat size must be 2 or 4 bytes
memory.width.WidthAdapter
    longest = 16: The longest request must be an integer from 1 to 256 beats
    size = 65536: Size must be a multiple of 8 from 8 to 2^31 bytes
memory.words.WordServer
    size = 4096: Size must be a multiple of 4 from 4 to 2^32 bytes
    beat_bytes = 4: Beat size must be 1, 2, 4, 8 or 16 bytes
parts.queues.ShiftQueue
    depth = 2: Depth must be a positive integer
primitives.adders.FunctionAdder family
    width = 8: Width must be an integer of at least 2
primitives.bram.BlockRAM family
    width = 8: Width must be an integer from 1 to 65536
    depth = 16: Depth must be an integer from 1 to 2^24
    latency = 1: Latency must be an integer from 1 to 3
primitives.dsp.MultiplierArray family
    lanes = 2: Number of lanes must be a positive integer
    kind = 'lut': Kind of multiplier must be dsp or lut
    dsp_limit = 0: Limit of DSPs must be None or a non-negative integer
    width = 8: Width of operands must be 8 or 16
primitives.dualram.DualPortRAM family
    depth = 64: Depth must be a power of two from 2 to 1024
    width = 18: Width must be 4, 9, 16 or 18
primitives.dualram.HalvesRAM family
    depth = 64: Depth must be a power of two from 2 to 512
primitives.held.HeldMultipliers family
    kind = 'lut': Kind of multiplier must be dsp, lut or rows
primitives.kept.KeptRegister family
    width = 8: Width must be a positive integer
primitives.maskedram.MaskedRAM family
    width = 8: Width must be an integer from 1 to 64
    depth = 16: Depth must be an integer from 1 to 1048576
primitives.multiplexer.Multiplexer family
    width = 8: Width must be a positive integer
    inputs = 4: Inputs must be a power of two of at least 2
primitives.multipliers.PipelinedMultipliers family
    lanes = 2: Number of lanes must be a positive integer
    a_width = 8: Width of operand a must be an integer from 2 to 16
    b_width = 8: Width of operand b must be an integer from 2 to 16
    kind = 'lut': Kind of multiplier must be dsp or lut
primitives.packed.PackedProducts family
    pairs = 2: Number of pairs must be a positive integer
    dsp_limit = 0: Limit of DSPs must be None or a non-negative integer
primitives.pairs.PairSums family
    pairs = 2: Number of pairs must be a positive integer
    kind = 'lut': Kind of multiplier must be dsp or lut
shell.control.ControlBlock
    params_hash = 0: Parameter hash must be an integer from 0 to 2^32 - 1
    features = 3: Features must be an integer from 0 to 2^32 - 1
    program_align = 4: Program alignment must be a power of two of at least 1
shell.counters.Prescalers
    gap = 4: Gap between readings must be a positive integer
shell.crossing.CrossingFIFO
    depth = 4: Depth must be a power of two from 4 to 4096
shell.engine.EngineControl
    views = 1: Number of views must be an integer from 1 to 64
    cycle_bits = 1: Bits of cycles must be an integer from 1 to 8
    retired_bits = 1: Bits of retired instructions must be an integer from 1 to 16
standalone.boot.BootEngine
    build = 0: Hash of the build must be an integer from 0 to 2^32 - 1
    address_bits = 24: Address bits must be an integer from 17 to 31
standalone.flash.FlashReader
    address = 0: Address must be an integer from 0 to 2^24 - 1
    half = 1: Half a period must be a positive number of cycles
    wake = 1: Wake-up must be a positive number of cycles
    delay = 0: Delay must be a non-negative number of cycles
shell.crossing.CountCrossing
    events = 1: events must be an integer from 1 to 256
    bits = 4: bits must be an integer from 1 to 8
soc.SoC
    clock_hz = 48000000: Main clock must be an integer from 1 to 2^32 - 1 Hz
standalone.walker.RunListWalker
    control = 0: Address of the start must be a multiple of 4 from 0 to 2^32 - 1
    address_bits = 24: Address bits must be an integer from 17 to 31
"""
#: Arguments that a constructor needs beside them and beside parameters of a build.
FIXED = {
    "ROM": {"data": b"x"},
    "Issue": {"memory_size": 65536},
    "MatrixPost": {"sum_width": 32},
    "Load": {"memory_size": 65536},
    "TransferUnit": {"memory_size": 65536},
    "PortTree": {"beat_bytes": 4},
    "USBIdentity": {"manufacturer": "a", "product": "b", "serial": "c"},
    "MemoryArbiter": {"beat_bytes": 4},
    "BeatsToWords": {"count_bits": 8},
    "DDR3Memory": {"part": "MT41K64M16"},
    "DDR3Sequencer": {"part": "MT41K64M16", "clock_hz": 48000000, "mode_registers": []},
    "SDRAMController": {"part": "W9825G6", "clock_hz": 48000000},
    "SPRAMMemory": {"family": None},
    "SRAMController": {"part": "IS61WV25616", "clock_hz": 24000000},
    "WidthAdapter": {"beat_bytes": 8, "memory_beat_bytes": 4},
    "ShiftQueue": {"shape": 8},
    "FunctionAdder": {"function": "and"},
    "HeldMultipliers": {"lanes": 2, "registered": True},
    "ControlBlock": {
        "ident": "TEST",
        "version": (1, 0),
        "memory_size": 4096,
        "control": EngineControl(),
    },
    "Prescalers": {"bits": {"a": 2}},
    "CrossingFIFO": {"shape": 8, "w_domain": "sync", "r_domain": "fast"},
    "EngineControl": {"registers": {}},
    "FlashReader": {"quad": False},
    "CountCrossing": {"domain": "fast"},
    "SoC": {"board_name": "test", "memory": BlockRAMMemory(size=4096, beat_bytes=4)},
}
#: Constructors whose checks depend on the subclass: tests/gateware/shell/test_engine_arguments.py.
ELSEWHERE = {"shell.engine.Engine"}
#: Functions of ``gateware/arguments.py`` and of modules beside it that state a bound.
CHECK = re.compile("check_(base|beat_bytes|choice|family|integer|kind|limit|memory_size|size)$")


def parsed(table):
    """Constructor -> argument -> (value, message)."""
    found, bounds = {}, {}
    for line in table.strip().splitlines():
        if line.startswith(" "):
            argument, value, message = re.fullmatch(r" +(\w+) = (.+?): (.+)", line).groups()
            bounds[argument] = (ast.literal_eval(value), message)
        else:
            name, *family = line.split()
            bounds = found[name] = dict.fromkeys(family, (None, FAMILY))
    return found


SWEPT = parsed(COMPONENTS)


def just_outside(message):
    """Values next to the bounds that a message states."""
    numbers = [
        (1 << int(power) if power else int(plain)) - bool(less)
        for power, plain, less in re.findall(r"(?:2\^(\d+)|\b(\d+))( - 1)?", message)
    ]
    if "Family" in message or not numbers:
        return {"non-negative": [-1], "positive": [0]}.get(
            next((word for word in ("non-negative", "positive") if word in message), ""), ["x"]
        )
    if "multiple" in message:
        unit, low, high = numbers if len(numbers) == 3 else (numbers[0], *numbers)
        return [low - unit, high + unit, *([low + 1] if unit > 1 else [])]
    if "power of two" in message:
        return [numbers[0] >> 1, 3 << numbers[0].bit_length(), *(2 * n for n in numbers[1:])]
    if " from " in message:
        return [numbers[0] - 1, numbers[1] + 1]
    if "at least" in message:
        return [numbers[0] - 1]
    return [0, 3, 2 * numbers[-1]]


@pytest.mark.parametrize("name", SWEPT)
def test_bounds(name):
    module, _, kind = name.rpartition(".")
    make = getattr(import_module(f"quintet.gateware.{module}"), kind)
    fixed, bounds = FIXED.get(kind, {}), SWEPT[name]
    if "params" in signature(make).parameters and "cores" in module:
        fixed = {**fixed, "params": PARAMS[module.split(".")[1]]}
    taken = {argument: value for argument, (value, _) in bounds.items()}
    make(**fixed, **taken)
    for argument, (_, message) in bounds.items():
        for value in (True, *just_outside(message)):
            with pytest.raises(ValueError) as raised:
                make(**fixed, **{**taken, argument: value})
            assert str(raised.value) == f"{message}, not {value!r}", (argument, value)


def _checks(kind):
    """Names of the arguments that the constructor of a class hands to checks of bounds; ``""`` for
    a check of something else."""
    for function in kind.body:
        if getattr(function, "name", "") in ("__init__", "__post_init__"):
            own = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and CHECK.match(getattr(call.func, "id", "")):
                    labelled = call.func.id in ("check_integer", "check_choice")
                    name = getattr(call.args[labelled], "id", "")
                    yield name if name in own else ""


def unswept(folder, components):
    """Arguments with bounds that no entry of ``components`` has."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        for kind in ast.walk(ast.parse(path.read_text())):
            if isinstance(kind, ast.ClassDef):
                name = f"{module}.{kind.name}"
                swept = components.get(name, {})
                missing = {one for one in _checks(kind) if one not in swept}
                if missing - {""} or missing and not swept:
                    found.append(f"{name}: {', '.join(sorted(missing))}")
    return found


def test_every_constructor_is_swept(tmp_path):
    missing = [one for one in unswept(GATEWARE, SWEPT) if one.split(":")[0] not in ELSEWHERE]
    assert not missing, "\n".join(missing)
    (tmp_path / "new.py").write_text(
        "class New:\n    def __init__(self, depth):\n        check_integer('Depth', depth, 1)\n"
    )
    assert unswept(tmp_path, SWEPT) == ["new.New: depth"]
