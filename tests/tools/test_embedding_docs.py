# SPDX-License-Identifier: BSD-2-Clause
"""docs/guides/own-soc.md: its example works as it stands there."""

import json
import re
from pathlib import Path

import pytest

from quintet.tools.jobs.job import Job
from quintet.tools.jobs.runner import run_job
from quintet.tools.targets.model import ModelTarget
from tests.support.formal import find_tool
from tests.support.installed import build_wheel, install, run
from tests.support.simulating import simulate

ROOT = Path(__file__).resolve().parents[2]
REGISTERS = 0x8000_0000
CONTROL, STATUS, IRQ_ENABLE = 0x10, 0x14, 0x18
BUSY, DONE = 1, 2


def printed_example():
    """The Python of the guide, without LiteX's."""
    text = (ROOT / "docs/guides/own-soc.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    (source,) = (block for block in blocks if "class System" in block)
    return source


def place(folder):
    """Places the example on a 25F; gives nextpnr's report."""
    names = {"__name__": "example"}
    exec(compile(printed_example(), "own-soc.md", "exec"), names)
    (folder / "system.v").write_text(names["convert"](names["System"](), name="system"))
    for command in (
        ("yosys", "-q", "-p", "read_verilog system.v; synth_ecp5 -top system -json system.json"),
        (
            *("nextpnr-ecp5", "--quiet", "--25k", "--package", "CABGA381", "--seed", "1"),
            *("--json", "system.json", "--lpf-allow-unconstrained", "--timing-allow-fail"),
            *("--report", "report.json", "--freq", "25"),
        ),
    ):
        run(find_tool(command[0]), *command[1:], cwd=folder)
    return json.loads((folder / "report.json").read_text())


@pytest.fixture(scope="module")
def example():
    names = {"__name__": "example"}
    exec(compile(printed_example(), "own-soc.md", "exec"), names)
    return names


def test_the_example_is_short():
    code = [line for line in printed_example().splitlines() if line.strip()]
    assert len(code) <= 32, len(code)


def test_a_run_on_the_example(example):
    """The host loads a job into the memory, starts the core, waits for its interrupt, and reads the
    golden model's results."""
    job = Job.load(str(ROOT / "firmware/opentpu/programs/small.toml"))
    model = ModelTarget(isa="opentpu", preset="sim", overrides={}, memory_size=1 << 16)
    result = run_job(job, model)
    design = example["System"]()
    seen = {}

    async def host(ctx):
        bus = design.host

        async def access(address, value=None):
            ctx.set(bus.adr, address // 4)
            ctx.set(bus.sel, 15)
            ctx.set(bus.we, value is not None)
            ctx.set(bus.dat_w, value or 0)
            ctx.set(bus.cyc, 1)
            ctx.set(bus.stb, 1)
            *_, data = await ctx.tick().sample(bus.dat_r).until(bus.ack)
            ctx.set(bus.cyc, 0)
            ctx.set(bus.stb, 0)
            await ctx.tick()
            return data

        while await access(REGISTERS + STATUS) & BUSY:
            pass
        seen["ident"] = (await access(REGISTERS)).to_bytes(4, "little")
        for part in result.image.parts:
            data = bytes(part.data) + bytes(-len(part.data) % 4)
            for at in range(0, len(data), 4):
                await access(part.at + at, int.from_bytes(data[at : at + 4], "little"))
        for name, value in result.image.registers.items():
            kind, offset = model.registers.find(name)
            for at in range(0, kind.width // 8, 4):
                await access(REGISTERS + offset + at, value >> 8 * at & 0xFFFF_FFFF)
        await access(REGISTERS + IRQ_ENABLE, 1)
        await access(REGISTERS + CONTROL, 1)
        for _ in range(5000):
            seen["interrupt"] = ctx.get(design.interrupt)
            if seen["interrupt"]:
                break
            await ctx.tick()
        seen["status"] = await access(REGISTERS + STATUS)
        for save in job.saves:
            words = [await access(save.at + at) for at in range(0, save.size, 4)]
            seen[save.name] = b"".join(word.to_bytes(4, "little") for word in words)

    simulate(design, host)
    assert seen["ident"] == b"OTPU" and seen["interrupt"] and seen["status"] == DONE
    for save in job.saves:
        assert seen[save.name] == bytes(result.raw[save.name])


def test_verilog_of_the_example(example):
    text = example["convert"](example["System"](), name="system")
    assert "module system(" in text and "port$" not in text


@pytest.mark.pnr
@pytest.mark.long
def test_the_example_fits_a_25f(tmp_path):
    report = place(tmp_path)
    used = report["utilization"]
    assert used["DP16KD"]["used"] >= 32 and used["TRELLIS_COMB"]["used"] < 24_000
    assert min(clock["achieved"] for clock in report["fmax"].values()) >= 25


@pytest.mark.long
def test_the_example_runs_from_a_wheel_in_an_empty_folder(tmp_path):
    (tmp_path / "build").mkdir()
    python, environment = install(build_wheel(tmp_path / "build"), tmp_path / "environment")
    here = tmp_path / "here"
    here.mkdir()
    (here / "system.py").write_text(printed_example())
    assert "module system(" in run(python, "system.py", cwd=here, env=environment)
