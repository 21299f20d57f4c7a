# SPDX-License-Identifier: BSD-2-Clause
"""Verilog test bench of a core alone: runs a job in any simulator and compares the result with the
golden model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import JobError
from ..jobs.runner import run_job
from ..targets.model import ModelTarget
from .verilog_buses import MEMORIES, REGISTERS

if TYPE_CHECKING:
    from ...gateware.shell.domains import DomainRequest
    from ..jobs.job import Job

__all__ = ["test_bench"]

_BENCH = """\
// Runs {origin} on {name} and compares what it saves with the golden model. Made by quintet.
// With {name} in FILE.v and this in FILE_tb.v:
//   $ iverilog -g2005 -o tb FILE_tb.v FILE.v && vvp tb
//   $ verilator --binary --timing -Wno-fatal --top-module {name}_tb FILE_tb.v FILE.v
//   $ obj_dir/V{name}_tb
`timescale 1ns/1ps

module {name}_tb;
  reg clk = 0, rst = 1;
  always #5 clk = ~clk;
{second}
{register_models}
{memory_models}
  {name} core (
    .clk(clk), .rst(rst),{far}
{register_ports}{memory_ports}    .busy(busy), .fault(fault), .interrupt(interrupt));

  reg [31:0] value;
  task access(input [11:0] address, input write, input [31:0] data);
    begin
      @(posedge clk);
{register_task}    end
  endtask

  integer errors = 0, cycles = 0;
  always @(posedge clk) cycles <= busy ? cycles + 1 : 0;
  task expect_byte(input [31:0] address, input [7:0] good);
    if (memory[address / BYTES][8 * (address % BYTES) +: 8] !== good) begin
      errors = errors + 1;
      if (errors <= 10)
        $display("byte %h is %h, expected %h", address,
                 memory[address / BYTES][8 * (address % BYTES) +: 8], good);
    end
  endtask

  integer k;
  initial begin
    for (k = 0; k < BEATS; k = k + 1) memory[k] = 0;
{contents}
    repeat (64) @(posedge clk);
    rst <= 0;
    value = 1;
    // Busy until the reset is over: registers are not written before.
    while (value[0]) access(12'h014, 0, 0);
{registers}
    access(12'h010, 1, 1);    // start
    access(12'h014, 0, 0);
    while (value[0] && cycles <= {limit}) access(12'h014, 0, 0);
    if (value != 2) begin
      errors = errors + 1;
      $display("status is %h, expected 2 (done)", value);
      access(12'h040, 0, 0);
      $display("fault_code is %0d", value);
    end
{checks}
    access(12'h080, 0, 0);
    if (errors == 0)
      $display("PASS: %0d bytes as the golden model has them, %0d cycles", {saved}, value);
    else $display("FAIL: %0d errors", errors);
    $finish;
  end
endmodule
"""


def test_bench(
    job: Job,
    *,
    name: str,
    preset: str | None,
    params: Mapping[str, Any] | None,
    beat_bytes: int,
    memory_size: int,
    domain: DomainRequest | None = None,
    bus: str | None = None,
    registers: str = "wishbone",
    memory_base: int = 0,
) -> str:
    """Generates a test bench that runs ``job`` on the module ``name`` of
    :func:`~.verilog.verilog_core` with the same sizes.

    Parameters
    ----------
    beat_bytes : int
        Bytes of the bus's data; with the memory port, of a beat.
    bus, registers, memory_base
        As of :class:`~quintet.gateware.core.Core`.

    Raises
    ------
    JobError
        The job is another core's, saves nothing, does not fit, or does not end well on the golden
        model.
    """
    isa = name.removeprefix("quintet_")
    if job.core != isa:
        raise JobError(f"{job.origin}: core = {job.core}: the test bench is for {isa}")
    if not job.saves:
        raise JobError(f"{job.origin}: it saves nothing that could be compared")
    model = ModelTarget(isa=isa, preset=preset, overrides=params, memory_size=memory_size)
    result = run_job(job, model)
    if result.outcome.status != "done":
        raise JobError(
            f"{job.origin}: on the golden model it ends {result.outcome.status}, which a test "
            f"bench does not expect"
        )
    memory = bytearray(memory_size)
    used: set[int] = set()
    for part in result.image.parts:
        memory[part.at : part.at + len(part.data)] = part.data
        used.update(range(part.at // beat_bytes, -(-(part.at + len(part.data)) // beat_bytes)))
    contents = []
    for beat in sorted(used):
        value = int.from_bytes(memory[beat * beat_bytes :][:beat_bytes], "little")
        contents.append(f"    memory[{beat}] = {8 * beat_bytes}'h{value:x};")
    settings = []
    for register, value in result.image.registers.items():
        kind, offset = model.registers.find(register)
        settings += [
            (
                f"    access(12'h{offset + at:03x}, 1, 32'h{value >> 8 * at & 0xFFFF_FFFF:x});    "
                f"// {register}"
            )
            for at in range(0, kind.width // 8, 4)
        ]
    checks = [
        f"    expect_byte(32'h{save.at + at:x}, 8'h{byte:02x});"
        for save in job.saves
        for at, byte in enumerate(result.raw[save.name])
    ]
    second = far = ""
    if domain is not None:
        second = (
            f"  reg far_clk = 0;\n  always #{float(5 / domain.ratio):.3f} far_clk = "
            f"~far_clk;    // {domain.ratio} times clk\n"
            "  reg far_rst = 1;\n  always @(posedge far_clk) far_rst <= rst;\n"
        )
        far = f" .{domain.name}_clk(far_clk), .{domain.name}_rst(far_rst),"
    memory_bench, register_bench = MEMORIES[bus or "port"], REGISTERS[registers]
    sizes = {"bytes": beat_bytes, "beats": memory_size // beat_bytes, "base": memory_base}
    # A core's shell calls its register block so.
    prefix = "bus" if bus is None else "registers"
    return _BENCH.format(
        register_models=register_bench.models,
        register_ports=register_bench.ports.format(prefix=prefix),
        register_task=register_bench.task,
        memory_models=memory_bench.models.format(**sizes),
        memory_ports=memory_bench.ports.format(**sizes),
        origin=job.origin.name
        if hasattr(job.origin, "name")
        else str(job.origin).rsplit("/", 1)[-1],
        name=name,
        contents="\n".join(contents),
        registers="\n".join(settings),
        checks="\n".join(checks),
        second=second,
        far=far,
        limit=job.cycle_limit or 1_000_000_000,
        saved=sum(save.size for save in job.saves),
    )
