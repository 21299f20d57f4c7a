# SPDX-License-Identifier: BSD-2-Clause
"""PIM's acceptance workloads (specification, section 10) on compiled gateware.

Memory *block*: 8 bytes a cycle on the core's one port, eight cycles of latency; *sdram*: the
default SoC of the ULX3S-85F with the model of its chip of 16 bits. Cycles are those of RUN. After
every run all of memory is compared with the golden model's. On a build of the comparison
(``builds.BUILDS``) single instructions work in 4 KB of LMem; the bounds are of preset ``85f``, so
none is shown.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....gateware.cores.pim.asm.listing import image_of
from ....gateware.cores.pim.image.image import CoreProgram, Group, Image, words_of
from ....gateware.cores.pim.model.model import Model
from ....gateware.cores.pim.software import SOFTWARE
from ....gateware.isa.asm import Program, load_program, save_program
from ....tools.measure import Choice, Differs, Row
from ....tools.measure.bench import SHARED_COUNTERS, MeasuredBuild, ideal_bench, sdram_board
from ... import digits
from .builds import MEMORY as SMALL
from .builds import open_build
from .case import Case, make_case, run_model
from .workloads import BOUNDS, PARAMS, SINGLES, WORKLOADS, case_of
from .workloads import MEMORY as WORKLOADS_MEMORY

__all__ = [
    "BEATS",
    "DENSE",
    "MeasuredCores",
    "Run",
    "STREAMS",
    "dense_case",
    "digits_case",
    "digits_rows",
    "item_rows",
    "published",
    "stream_rows",
]

#: Bytes of main memory of the bench: the digits' program and, from the middle on, their GMem.
MEMORY = 1 << 23
BEATS = {"block": 8, "sdram": 2}
#: Folder of the dense streams.
FOLDER = Path(__file__).resolve().parent / "streams"
#: Stream that a dense program is kept of -> its bound, by memory: 60 % of the published event
#: simulator's cycles (default configuration; section 10), or 1.15 times the program's own limit by
#: issue, units, ports and main memory, if that is more.
DENSE = {
    "A": {"block": 3355.2, "sdram": 3355.2},
    "B": {"block": 2139.6, "sdram": 2145.9},
    "C": {"block": 1802.4, "sdram": 3997.4},
}
#: Stream -> bound of the workload table, by memory; code packed at the SDRAM.
STREAMS = {
    "A": {"block": 5592, "sdram": 5592},
    "B": {"block": 3566, "sdram": 3566},
    "C": {"block": 3004, "sdram": 4170},
    "D": {"block": 850, "sdram": 1150},
    "E": {"block": 2000, "sdram": None},
}
#: Images of a digits program, and the cores that share them out.
IMAGES, _SHARED = 40, 4
_PACKED = 2


@dataclass(frozen=True)
class Run:
    """Result of a run: ``cycles`` of RUN, ``load`` of LOAD, all ``counters``."""

    cycles: int
    load: int
    counters: dict[str, int]


class MeasuredCores:
    """Preset ``85f`` on one of the memories, or a build of the comparison."""

    def __init__(self, memory: str, cores: int = 4, build: str | None = None) -> None:
        self.memory, self.params, self.size, self.beat, self.build = (
            memory,
            {**PARAMS, "cores": cores},
            WORKLOADS_MEMORY,
            BEATS[memory],
            build,
        )
        if build is not None:
            self.memory, self.size = "block", SMALL
            bench = open_build(build)
            self.params, self.beat = bench.params, bench.beat_bytes
            self._measured = MeasuredBuild(bench=bench)
        elif memory == "block":
            self._measured = MeasuredBuild(
                bench=ideal_bench("pim", "85f", BEATS[memory], MEMORY, overrides={"cores": cores})
            )
        else:
            self._measured = MeasuredBuild(
                board=sdram_board("pim", {"cores": cores} if cores != 4 else None)
            )

    def case(self, name: str) -> Case | None:
        """Test case of a workload; ``None`` if this build cannot run it."""
        small = self.build is not None and name in SINGLES
        program = (SINGLES if small else WORKLOADS)[name]
        if any(max(g.arrays) >= self.params["arrays"] for p in program for g in p.groups):
            return None
        case = case_of(
            program,
            mode=0 if self.memory == "block" else _PACKED,
            params=self.params,
            size=self.size,
        )
        if (
            len(program) > self.params["cores"]
            or self.build is not None
            and run_model(case)[0].status != "done"
        ):
            return None
        return case

    def run(self, case: Case) -> Run:
        """The :class:`Run` of a case; raises `Differs` unless it ends well, with the model's
        memory."""
        model = Model(dict(case.params), case.memory)
        outcome = self._measured.exact(
            case.name, model, case.memory, case.registers, SHARED_COUNTERS
        )
        load = self._measured.register("load_cycles")
        return Run(outcome.counters["cycles"] - load, load, outcome.counters)


def published(image: Image, params: dict[str, Any]) -> Image:
    """Exports ``image`` to the published JSON dialect and imports it again, so that it has the form
    of a compiler's stream."""
    with tempfile.TemporaryDirectory() as folder:
        save_program(SOFTWARE, Program(image.data()), f"{folder}/stream.json.gz")
        return image_of(load_program(SOFTWARE, Path(folder) / "stream.json.gz").data, dict(params))[
            0
        ]


def dense_case(case: Case, name: str) -> Case:
    """Test case of a stream with the code of its dense program, ``streams/dense_<name>.s``: fewer
    instructions with the same effect."""
    program = load_program(SOFTWARE, FOLDER / f"dense_{name.lower()}.s")
    at, size = case.registers["program_address"], case.registers["program_length"]
    memory = case.memory.copy()
    memory[at : at + size] = 0
    words = [
        (k, int(w))
        for k, core in enumerate(image_of(program.data)[0].cores)
        for w in words_of(core.code, core.mode, core.count)[0]
    ]
    assert case.image is not None  # a stream's case has one
    return make_case(case.name, dict(case.params), case.image, words, memory, at)


def _measured_builds(choice):
    """Opens every requested build with every requested memory."""
    for preset in choice.presets:
        for memory in choice.memories if preset == "85f" else ("block",):
            yield MeasuredCores(
                memory, choice.settings.get("cores", 4), None if preset == "85f" else preset
            )


def item_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of single instructions, exchanges, events and LOAD: the first part of section
    10's table."""
    for measured in _measured_builds(choice):
        yield from _items(measured, choice)


def _items(measured, choice):
    known, beat, more = (
        {},
        measured.beat,
        {"build": measured.build or "85f", "memory": measured.memory},
    )

    def cycles(name):
        if name not in known:
            known[name] = measured.run(measured.case(name)).cycles
        return known[name]

    for name, (bound, minus) in BOUNDS.items():
        if not choice.takes(name) or name in STREAMS or measured.case(name) is None:
            continue
        if name[:3] in ("ld ", "st "):
            bound = int(1.15 * 2000 / beat) + (60 if name.endswith("odd") else 40)
        if name == "10,000 sldi" and measured.memory != "block":
            continue
        yield Row(
            name,
            cycles(name) - (cycles(minus) if minus else 0),
            "cycles",
            bound if measured.build is None else None,
            more=more,
        )
    if measured.build is None and choice.takes("LOAD"):
        case = full_arrays(measured.params["cores"])
        size = case.registers["program_length"]
        yield Row(
            f"LOAD, 64 KB of weights for each core, {size:,} bytes",
            measured.run(case).load,
            "cycles",
            int(1.15 * size / beat) + 2500,
            more=more,
        )


def full_arrays(cores: int) -> Case:
    """A program without effect, on cores whose arrays are all programmed."""
    rng = np.random.default_rng(1)
    rows, arrays = PARAMS["xb_rows"] * PARAMS["arrays"], tuple(range(PARAMS["arrays"]))
    groups = [
        Group(
            rows,
            PARAMS["xb_cols"],
            arrays,
            8,
            8,
            1,
            rng.integers(-128, 128, (rows, PARAMS["xb_cols"]), np.int8),
        )
        for _ in range(cores)
    ]
    image = Image(
        [CoreProgram(groups=[group]) for group in groups],
        PARAMS["xb_rows"],
        PARAMS["xb_cols"],
        MEMORY // 2,
        0,
    )
    return make_case(
        "LOAD", PARAMS, image, [(k, 0) for k in range(cores)], np.zeros(MEMORY, np.uint8), 0x1000
    )


def stream_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of the streams, imported from the published format, and of their dense
    programs."""
    for measured in _measured_builds(choice):
        for name in STREAMS:
            if choice.takes(name):
                yield from _stream(measured, name)


def _stream(measured, name):
    case = measured.case(name)
    if case is None:
        return
    image = published(case.image, case.params)
    if image.data() != case.image.data():
        raise Differs(f"{name}: the published format does not give the image back")
    runs = [(name, case, STREAMS[name][measured.memory])]
    if name in DENSE:
        runs.append((f"{name}, dense", dense_case(case, name), DENSE[name][measured.memory]))
    for what, one, bound in runs:
        run = measured.run(one)
        yield Row(
            what,
            run.cycles,
            "cycles",
            bound if measured.build is None else None,
            more={
                "build": measured.build or "85f",
                "memory": measured.memory,
                "instructions": run.counters["instructions"],
            },
        )


def digits_case(network: str, cores: int) -> Case:
    """Test case of the first :data:`IMAGES` digits with the program ``digits/<network><cores>.s``
    ("mlp" or "cnn", on 1 or 4 cores) and memory filled in."""
    data = load_program(SOFTWARE, Path(__file__).parent / "digits" / f"{network}{cores}.s").data
    memory = np.zeros(MEMORY, np.uint8)
    memory[: len(data)] = np.frombuffer(data, np.uint8)
    pixels = digits.images(IMAGES)
    values = digits.with_bias(pixels) if network == "mlp" else pixels
    memory[MEMORY // 2 : MEMORY // 2 + values.size] = values.view(np.uint8).ravel()
    return Case(
        f"{network}{cores}",
        PARAMS,
        [],
        {"program_address": 0, "program_length": len(data)},
        memory,
        image=image_of(data, PARAMS)[0],
    )


def digits_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of the digits networks on one core and on all."""
    compute = {}
    for measured in _measured_builds(choice):
        cores = _SHARED
        for network in ("mlp", "cnn"):
            if not choice.takes(network):
                continue
            one, all_ = (measured.run(digits_case(network, n)) for n in (1, cores))
            if measured.memory == "block":
                compute[network] = one.cycles
            c = all_.counters
            moved = c["bytes_read"] + c["bytes_written"] + c["code_bytes"]
            least = max(compute.get(network, one.cycles) / cores, moved / BEATS[measured.memory])
            more = {
                "memory": measured.memory,
                "cycles, 1 core": one.cycles,
                f"{cores} cores": all_.cycles,
                "bytes of code and data": moved,
                f"larger of compute / {cores} and bytes": least,
            }
            bound = network == "cnn"
            yield Row(
                f"{network}, {IMAGES} images",
                one.cycles / all_.cycles,
                "times one core",
                2.8 if bound and measured.memory == "block" else None,
                True,
                more,
            )
            yield Row(
                f"{network}, {IMAGES} images",
                all_.cycles / least,
                "times the limit",
                1.15 if bound and measured.memory == "sdram" else None,
                more=more,
            )
