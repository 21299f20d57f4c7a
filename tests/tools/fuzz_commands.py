# SPDX-License-Identifier: BSD-2-Clause
"""Command lines for the fuzzer: every subcommand with its options, with values that are legal,
nearly so, and not at all."""

from dataclasses import dataclass, field
from pathlib import Path

from quintet.boards import board_names
from quintet.firmware import digits
from quintet.gateware.cores import core_names, open_core
from quintet.tools.cli import COMMANDS
from tests.tools.fuzz_files import JOBS, NONSENSE

__all__ = ["Case", "command"]


@dataclass
class Case:
    """A command: ``args``; ``isa`` whose small job lies in the working folder; ``changes``, how
    many of its files are broken; ``tools``, what the tools that it would call do; ``places``, paths
    that it may write, also if it fails."""

    args: list
    isa: str
    changes: int
    tools: str
    places: list = field(default_factory=list)


def nearly(rnd, text):
    """``text`` with a small mistake."""
    text = str(text)
    at = rnd.randrange(len(text) + 1)
    return rnd.choice(
        (
            text[:at] + text[at + 1 :],
            text[:at] + rnd.choice(NONSENSE) + text[at:],
            text.upper(),
            text + " ",
            text + "/",
            text + ",",
            text + text,
            "-" + text,
            text[::-1],
        )
    )


class _Maker:
    def __init__(self, rnd):
        self.rnd = rnd
        self.isa = rnd.choice(list(JOBS))
        self.wrong = rnd.choice((0, 0, 0, 0.05, 0.1, 0.3))  # how much of this command line is wrong

    def of(self, *values):
        """One of ``values``, or what is not."""
        value = self.rnd.choice(values)
        if self.rnd.random() >= self.wrong:
            return str(value)
        return nearly(self.rnd, value) if self.rnd.random() < 0.5 else self.rnd.choice(NONSENSE)

    def maybe(self, chance, *words):
        return (
            [word() if callable(word) else word for word in words]
            if self.rnd.random() < chance
            else []
        )

    def board(self):
        return self.of(*board_names())

    def core(self):
        return self.of(*[self.isa] * 40, *core_names())

    def preset(self):
        return self.of(*open_core(self.isa).params.SPACE.presets)

    def parameter(self):
        parameter = self.rnd.choice(list(open_core(self.isa).params.SPACE.parameters.values()))
        legal = (
            parameter.legal
            if not callable(parameter.legal)
            else (1, 2, 3, 4, 5, 8, 16, 64, 1000, 1 << 20)
        )
        value = self.of(
            *(
                legal[:1] + legal[-1:] + (self.rnd.choice(legal),)
                if isinstance(legal, tuple)
                else (legal[0], legal[-1], self.rnd.choice(legal))
            )
        )
        if value in ("True", "False"):
            value = value.lower()
        return f"{self.of(parameter.name)}={value}"

    def sizes(self):
        return [
            *self.maybe(0.4, "--preset", self.preset),
            *(w for _ in range(self.rnd.choice((0, 0, 1, 2))) for w in ("-P", self.parameter())),
        ]

    def program(self):
        _, _, source, forms = JOBS[self.isa]
        names = [source, source, *("folder" if form == "/" else f"program{form}" for form in forms)]
        names += ["yaml.s"] * (self.isa == "imagine") + ["folder/core_0.pim"] * (self.isa == "pim")
        return self.of(*names)

    def job(self):
        return self.of(
            *("job.toml", "job.toml", "binary.toml", f"example:{JOBS[self.isa][0]}/small.toml"),
            *(["npz.toml"] if self.isa == "opentpu" else []),
        )

    def out(self, *names):
        """A place for a file: new, there already, in no folder, a link, a folder."""
        return self.of(
            *names * (30 // len(names)),
            "there.txt",
            "nodir/x" + names[0][-4:],
            "link" + names[0][-4:],
            "subfolder",
            "readonly/x" + names[0][-4:],
        )

    def folder(self):
        return self.of(
            "new", "new/deep", "subfolder", "there.txt", "readonly/new", "there.txt/new", "loop"
        )

    def number(self, *legal):
        return self.of(*legal, *legal, *legal, 0, -1, 10**30)

    def query(self, *words):
        words = [
            word
            for word in (*words, *(self.parameter() for _ in range(self.rnd.choice((0, 0, 1, 2)))))
            if word
        ]
        return "?" + "&".join(words) if words else ""

    def model(self):
        preset = f"preset={self.preset()}" if self.rnd.random() < 0.3 else ""
        return self.of(
            "model", "model", f"model:{self.core()}{self.query(preset)}", f"model:{self.isa}"
        )

    def sim(self):
        words = [f"preset={self.preset()}"] if self.rnd.random() < 0.3 else []
        words += self.maybe(0.2, lambda: f"link={self.of('pipe', 'wire', 'uartbone', 'spi')}")
        words += self.maybe(0.2, lambda: f"load={self.of('direct', 'link')}")
        words += self.maybe(
            0.3,
            lambda: (
                "trace="
                + self.of(
                    "new.vcd", "nodir/x.vcd", "new.fst", "subfolder", "readonly/x.vcd", "a%00b"
                )
            ),
        )
        words += self.maybe(0.2, lambda: f"trace_from={self.number(0, 100)}")
        return f"sim:{self.board()}/{self.core()}{self.query(*words)}"

    def port(self):
        kind = self.of("closed", "closes", "noise", "silent")
        query = f"?timeout={self.number(0.01, 0.02, 0.05)}" + (
            f"&token={self.of('12345678', 'x')}" if self.rnd.random() < 0.2 else ""
        )
        return self.of(
            f"socket://127.0.0.1:{{{kind}}}{query}",
            "auto",
            "/dev/ttyQUINTET",
            "there.txt",
            "/dev/null",
            "COM3",
            "socket://127.0.0.1:1",
            f"/dev/ttyS99?baud={self.number(9600)}",
            "fifo",
        )

    def target(self):
        kind = self.rnd.random()
        return self.model() if kind < 0.7 else self.sim() if kind < 0.8 else self.port()


def _demo(m):
    return m.maybe(
        0.97,
        "--on",
        lambda: m.rnd.choice(
            (
                m.sim,
                m.port,
                lambda: f"model:{m.rnd.choice(core_names()[:1])}{m.query(m.parameter())}",
                lambda: "model:" + m.of(*(name for name in core_names() if name != "opentpu")),
            )
        )(),
    )


def _boards(m):
    return m.maybe(0.7, m.board)


def _cores(m):
    return m.maybe(0.7, m.core)


def _asm(m):
    suffix = m.of(
        *(
            f
            for f in (
                ".bin",
                ".s",
                ".mem",
                ".c",
                ".h",
                ".hex",
                ".out",
                ".json",
                ".json.gz",
                ".pim",
                "/",
            )
            if f in JOBS[m.isa][3] or m.rnd.random() < 0.2
        )
    )
    passes = m.maybe(0.2, "--pass", lambda: m.of("packed", "strip-nops", "pad-nops"))
    return [
        m.core(),
        m.program(),
        *m.maybe(0.97, "-o", lambda: m.out(f"out{suffix}")),
        *passes,
        *m.sizes(),
    ]


def _disasm(m):
    return [m.core(), m.program(), *m.maybe(0.6, "-o", lambda: m.out("out.s")), *m.sizes()]


def _trace(m):
    return [
        *m.maybe(0.15, "--trace", lambda: m.of("nodir/x.json", "x.json", "x.vcd", "", "subfolder")),
        *m.maybe(0.1, "--trace-from", lambda: m.of("0", "5", "x", "-1")),
        *m.maybe(0.1, "--trace-to", lambda: m.of("9", "0", "1e3")),
    ]


def _run(m):
    return [
        m.job(),
        *m.maybe(0.8, "--on", m.target),
        *m.maybe(0.4, "--out", m.folder),
        *m.maybe(0.2, "--allow-outside"),
        *m.maybe(0.1, "--vcd", lambda: m.of("nodir/x.vcd", "x.fst", "")),
        *m.maybe(0.1, "--fst", lambda: m.of("nodir/x.fst", "x")),
        *_trace(m),
    ]


def _verify(m):
    return [
        m.of(m.job(), m.job(), "folder", "subfolder"),
        *("--on", m.target()),
        *m.maybe(0.6, "--against", lambda: m.of(m.target(), m.target(), "reference")),
        *m.maybe(0.2, "--input", lambda: _arrays(m)),
        *m.maybe(0.2, "--out", m.folder),
        *m.maybe(0.1, "--resume"),
    ]


_NETWORK = Path(digits.__file__).parent


def _arrays(m):
    return m.of(
        f"{_NETWORK / 'digits.npz'}:images",
        f"{_NETWORK / 'digits.npz'}:calibration",
        f"{_NETWORK / 'digits.npz'}:labels",
        "x.npy",
        "yaml.s",
        "folder",
    )


def _compile(m):
    out = m.folder()
    args = [
        m.of(_NETWORK / "cnn.onnx", "job.toml"),
        "--for",
        m.of(f"ulx3s-85f/{m.isa}", f"model:{m.isa}", f"icebreaker/{m.isa}"),
        *m.sizes(),
        *m.maybe(0.5, "--calibrate", lambda: _arrays(m)),
        *m.maybe(0.2, "--bits", lambda: m.of(8, 16)),
        *m.maybe(0.1, "--percentile", lambda: m.of(99, 100)),
        *m.maybe(0.2, "--no-equalise"),
        *m.maybe(0.2, "--host-steps"),
        *m.maybe(0.2, "--images", lambda: m.of(1, 3, 0, "auto")),
        *m.maybe(0.1, "--on-host", lambda: m.of("conv1", "none")),
        *m.maybe(0.2, "--approximate", lambda: m.of(8, 2, 0, 65)),
        *m.maybe(0.2, "--report"),
        *m.maybe(0.1, "--state", lambda: m.of("output=input", "none=x", "x")),
        *m.maybe(0.1, "--no-state"),
        *m.maybe(0.1, "--initial", lambda: m.of("input=x.npy", "x.npy")),
        *m.maybe(0.1, "--stream", lambda: m.of("input=2", "input=0", "none=1", "x")),
        *m.maybe(0.1, "--frames", lambda: m.of(1, 4, 0)),
        *m.maybe(0.5, "--dry-run"),
        "-o",
        out,
    ]
    return args, [out]


def _infer(m):
    return [
        m.of("folder", "job.toml", "subfolder"),
        *m.maybe(0.5, "--on", m.target),
        "--input",
        _arrays(m),
        *m.maybe(0.3, "--labels", lambda: _arrays(m)),
        *m.maybe(0.5, "--limit", lambda: m.of(1, 3)),
        *m.maybe(0.2, "--no-overlap"),
        *m.maybe(0.2, "--reset-every", lambda: m.of(1, 5, 0)),
        *m.rnd.choice(([], ["--layers"])),
        *_trace(m),
    ]


def _generate(m):
    return [
        m.of("folder", _NETWORK / "mlp.onnx", "job.toml", "subfolder"),
        *m.maybe(0.5, "--on", m.target),
        *m.maybe(0.5, "--prompt", lambda: m.of("a", "The", "")),
        *m.maybe(0.5, "--tokens", lambda: m.of(1, 3)),
        *m.maybe(0.3, "--temperature", lambda: m.of(0, 0.7)),
        *m.maybe(0.3, "--seed", lambda: m.of(0, 5)),
    ]


def _compare(m):
    return [
        m.of(_NETWORK / "cnn.onnx", "job.toml"),
        "--board",
        m.board(),
        "--isa",
        m.of(m.isa),
        *m.maybe(0.5, "--calibrate", lambda: _arrays(m)),
        "--estimate",
        "--limit",
        m.of(1, 2),
    ]


def _report(m):
    out = m.out("out.html")
    return [
        m.of("job.toml", "there.txt", "subfolder", "nodir", "fifo", "yaml.s", "folder"),
        *m.maybe(0.9, "-o", lambda: out),
    ], [out, "report.html"]


def _studio(m):
    # A page that is served ends by an interrupt alone: one of its arguments is always wrong.
    return [
        *m.of(
            ("--port", "70000"),
            ("--board", "nowhere"),
            ("--plan", m.of("nothing", "job.toml")),
            ("--on", m.of("model", "sim:ulx3s-85f/opu", "/dev/nothing")),
        ),
        *m.of((), ("--models",), ("--no-browser",)),
    ]


def _selftest(m):
    return [
        m.rnd.choice((m.model, m.port))(),
        *m.maybe(0.3, "--yes"),
        *m.maybe(0.3, "--report", lambda: m.of("new.json", "nodir/x")),
    ]


def _check(m):
    return [
        m.of("built", "folder", "nodir", "there.txt"),
        *m.maybe(0.3, "--seed", lambda: m.number(1, 2)),
        *m.maybe(0.2, "--every"),
        *m.maybe(0.2, "--routed"),
        *m.maybe(0.2, "--faults", lambda: m.number(1, 2)),
    ]


def _serve(m):
    where = m.rnd.choice(
        (
            [],
            [
                "--socket",
                m.of(
                    "0",
                    "127.0.0.1:0",
                    "nonsense",
                    ":",
                    "99999",
                    "[::1]:0",
                    "host.invalid:0",
                    "1.2.3.4:0",
                ),
            ],
            ["--link", m.of("new", "there.txt", "subfolder", "nodir/x", "loop")],
        )
    )
    return [
        m.rnd.choice((m.sim, m.sim, m.sim, m.model, m.port))(),
        *where,
        *m.maybe(0.2, "--token", lambda: m.of("12345678", "short", "x" * 200)),
    ]


def _build(m):
    out = m.folder()
    return [
        m.board(),
        m.core(),
        *m.sizes(),
        *m.maybe(0.3, "--freq", lambda: m.number(12, 24, 30.5, 48, 0.001, 999)),
        *m.maybe(0.3, "--seed", lambda: m.number(1, 2, 99)),
        *m.maybe(0.2, "--seeds", lambda: m.number(1, 3, 1000)),
        *m.maybe(0.1, "--jobs", lambda: m.number(1, 2, 8)),
        *m.maybe(0.1, "--cluster", lambda: m.of("tcp://127.0.0.1:1", "nowhere")),
        *m.maybe(0.3, "--link", lambda: m.of("uart", "uartbone", "usb", "spi")),
        *m.maybe(0.2, "--sdram-rate", lambda: m.number(1, 2, 3)),
        *m.maybe(0.2, "--limit", lambda: m.number(1, 0.5)),
        *m.maybe(0.2, "--router", lambda: m.of("router1", "router2")),
        *m.maybe(0.2, "--placer", lambda: m.of("heap", "static")),
        *m.maybe(0.1, "--mapping", lambda: m.of("plain", "dff", "retime", "x")),
        *m.maybe(0.1, "--check"),
        *m.maybe(0.9, "-o", lambda: out),
    ], [out, "out"]


def _flash(m):
    return [
        m.board(),
        m.of(
            "built/top.bin",
            "built/top.bit",
            "built",
            "built/top.bit",
            "there.txt",
            "nodir",
            "loop",
            "fifo",
        ),
        *m.maybe(0.3, "--permanent"),
        *m.maybe(0.2, "--plan", lambda: m.of("folder", "job.toml", "there.txt", "nodir")),
    ]


def _verilog(m):
    what = m.rnd.choice(
        (
            [m.board(), m.core()],
            [
                "--core",
                m.core(),
                *m.maybe(0.4, "--family", lambda: m.of("ecp5", "ice40")),
                *m.maybe(0.5, "--beat-bytes", lambda: m.of(2, 4, 8, 16)),
                *m.maybe(0.4, "--memory-size", lambda: m.of("64K", "32M", 64, 65536, "2048M", "1")),
                *m.maybe(0.4, "--bus", lambda: m.of("wishbone", "axi4", "native", "port")),
                *m.maybe(0.2, "--bus-width", lambda: m.of(8, 16, 32, 64, 128)),
                *m.maybe(0.2, "--registers", lambda: m.of("wishbone", "axi4-lite")),
                *m.maybe(0.2, "--memory-base", lambda: m.of(0, "0x40000000", "0x1", "here")),
                *m.maybe(0.1, "--package"),
            ],
        )
    )
    return [
        *what,
        *m.sizes(),
        *m.maybe(0.6, "-o", lambda: m.out("out.v")),
        *m.maybe(0.2, "--bench", m.job),
    ]


def _csr(m):
    return [
        m.board(),
        m.core(),
        *m.sizes(),
        "-o",
        m.out(*(f"out{m.rnd.choice(('.csv', '.json', '.svd', '.h', '.py', '.txt'))}",)),
    ]


def _export(m):
    return [
        "--c",
        m.of("folder", "job.toml", "subfolder"),
        *m.maybe(0.7, "-o", lambda: m.out("out.h", "out.c", "quintet.h")),
        *m.maybe(0.3, "--library"),
    ]


def _image(m):
    return [
        m.of("folder", "job.toml", "subfolder"),
        *m.maybe(0.8, "-o", lambda: m.out("plan.img", "out.txt")),
    ]


def _mlperf(m):
    where = m.rnd.choice(
        (
            [],
            ["--socket", m.of("0", "nonsense", "99999", "1.2.3.4:0")],
            ["--link", m.of("new", "there.txt", "subfolder", "nodir/x", "loop")],
            ["--stdio"],
        )
    )
    return [
        m.of("folder", "job.toml", "subfolder"),
        "--on",
        m.target(),
        *where,
        *m.maybe(0.3, "--model", lambda: m.of("ic01", "kws01")),
        *m.maybe(0.2, "--greet"),
    ]


def _matrix(m):
    out = m.rnd.choice((m.folder(), "built"))
    few = ["--board", m.board(), "--isa", m.core(), *m.maybe(0.5, "--preset", m.preset)]
    return [
        *few,
        *m.maybe(0.4, "--list"),
        *m.maybe(0.4, "--seeds", lambda: m.number(1, 2)),
        *m.maybe(0.3, "--workers", lambda: m.of(1, 2, 0, -1)),
        *m.maybe(0.3, "--link", lambda: m.of("uart", "uartbone", "usb", "spi")),
        *m.maybe(0.3, "--limit", lambda: m.number(1, 0.5)),
        *m.maybe(0.2, "--again"),
        *m.maybe(0.1, "--mapping", lambda: m.of("plain", "dff", "retime", "x")),
        *m.maybe(0.05, "--cluster", lambda: m.of("tcp://127.0.0.1:1", "nonsense")),
        *m.maybe(0.9, "-o", lambda: out),
    ], [out, "out"]


def _measure(m):
    """Lists, and names that there are not: a measure itself takes minutes."""
    few = [
        *m.maybe(0.3, "--preset", m.preset),
        *m.maybe(0.2, "--memory", lambda: m.of("sdram", "block")),
        *m.maybe(0.2, "--set", lambda: m.of("a=1", "=", "x")),
    ]
    return m.rnd.choice((["--list"], [m.of("nonsense", "opu/nothing", "", "/"), *few]))


def _new(m):
    out = m.folder()
    return [
        m.of("core", "board"),
        m.of("mine", "my_own", "opu", "icebreaker", "Json", "json", "", "a" * 40, "../up"),
        "-o",
        out,
    ], [out]


def _examples(m):
    out = m.folder()
    name = m.of("opu/small", "example:pim/small/two.toml", "digits/", "digits/cnn.onnx", "", "..")
    return [name, *m.maybe(0.7, "-o", lambda: out)], [out]


def _doctor(m):
    return m.maybe(0.7, "--udev")


_WEIGHTS = {
    "compile": 4,
    "infer": 3,
    "generate": 2,
    "compare": 2,
    "run": 30,
    "asm": 25,
    "disasm": 15,
    "verify": 8,
    "build": 6,
    "verilog": 5,
    "csr": 4,
    "export": 2,
    "mlperf": 2,
    "matrix": 4,
    "serve": 4,
    "flash": 3,
    "image": 2,
    "check": 2,
    "demo": 2,
    "report": 2,
    "studio": 2,
    "selftest": 2,
    "boards": 1,
    "cores": 1,
    "doctor": 1,
    "examples": 2,
    "measure": 1,
    "new": 2,
}


def command(rnd):
    """A random :class:`Case`."""
    assert set(_WEIGHTS) == set(COMMANDS), "a command that the fuzzer does not know"
    m = _Maker(rnd)
    name = rnd.choices(list(_WEIGHTS), _WEIGHTS.values())[0]
    made = globals()[f"_{name}"](m)
    args, places = made if isinstance(made, tuple) else (made, [])
    args = [m.of(name) if m.wrong and rnd.random() < 0.05 else name, *args]
    if m.wrong and rnd.random() < 0.3:
        # A word more, a word less, two exchanged.
        at, other = rnd.randrange(len(args)), rnd.randrange(len(args))
        how = rnd.choice(("more", "less", "exchanged"))
        if how == "more":
            args.insert(
                at, rnd.choice((*NONSENSE, "--json", "--help", "--list", "-o", "--on", "-P"))
            )
        elif how == "less":
            args.pop(at)
        else:
            args[at], args[other] = args[other], args[at]
    args += ["--json"] if rnd.random() < 0.3 else []
    return Case(
        args,
        m.isa,
        rnd.choice((0, 0, 0, 1, 1, 2, 3)),
        rnd.choice(("ok", "ok", "fails", "room", "nothing")),
        places,
    )
