# SPDX-License-Identifier: BSD-2-Clause
"""Verilog test bench of a core alone: runs a job in any simulator and compares the result with the
golden model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import JobError
from ..jobs.runner import run_job
from ..targets.model import ModelTarget

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
  // Register block: Wishbone, one classic cycle a word.
  reg [9:0] adr = 0;
  reg [31:0] dat_w = 0;
  reg cyc = 0, we = 0;
  wire [31:0] dat_r;
  wire ack, busy, fault, interrupt;

  // Memory port: one request at a time; an address beyond the memory is answered with an error.
  localparam BYTES = {beat_bytes}, BEATS = {beats};
  localparam IDLE = 2'd0, READ = 2'd1, WRITE = 2'd2, DONE = 2'd3;
  reg [8*BYTES-1:0] memory [0:BEATS-1];
  reg [1:0] state = IDLE;
  reg [31:0] at = 0;
  reg [7:0] left = 0;
  reg bad = 0;
  wire [40:0] req;
  wire [9*BYTES-1:0] w;
  wire req_valid, w_valid, r_ready, ack_ready;
  wire outside = at >= BEATS;
  wire [8*BYTES-1:0] word = outside ? {{8*BYTES{{1'b0}}}} : memory[at];
  wire [8*BYTES+1:0] r = {{left == 0, outside, word}};
  integer lane;
  always @(posedge clk)
    if (rst) state <= IDLE;
    else case (state)
      IDLE: if (req_valid) begin
        at <= req[31:0] / BYTES;
        left <= req[39:32];
        bad <= 0;
        state <= req[40] ? WRITE : READ;
      end
      READ: if (r_ready) begin
        at <= at + 1;
        left <= left - 1;
        if (left == 0) state <= IDLE;
      end
      WRITE: if (w_valid) begin
        for (lane = 0; lane < BYTES; lane = lane + 1)
          if (w[8*BYTES + lane] && !outside) memory[at][8*lane +: 8] <= w[8*lane +: 8];
        bad <= bad | outside;
        at <= at + 1;
        left <= left - 1;
        if (left == 0) state <= DONE;
      end
      DONE: if (ack_ready) state <= IDLE;
    endcase

  {name} core (
    .clk(clk), .rst(rst),{far}
    .bus__adr(adr), .bus__dat_w(dat_w), .bus__dat_r(dat_r), .bus__sel(4'hf),
    .bus__cyc(cyc), .bus__stb(cyc), .bus__we(we), .bus__ack(ack),
    .memory__req__payload(req), .memory__req__valid(req_valid), .memory__req__ready(state == IDLE),
    .memory__w__payload(w), .memory__w__valid(w_valid), .memory__w__ready(state == WRITE),
    .memory__r__payload(r), .memory__r__valid(state == READ), .memory__r__ready(r_ready),
    .memory__ack__payload(bad), .memory__ack__valid(state == DONE), .memory__ack__ready(ack_ready),
    .busy(busy), .fault(fault), .interrupt(interrupt));

  reg [31:0] value;
  task access(input [11:0] address, input write, input [31:0] data);
    begin
      @(posedge clk);
      adr <= address[11:2]; dat_w <= data; we <= write; cyc <= 1;
      @(posedge clk);
      while (!ack) @(posedge clk);
      value = dat_r;
      cyc <= 0;
    end
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
) -> str:
    """Verilog that runs ``job`` on the module ``name`` of :func:`~.verilog.verilog_core` with the
    same sizes.

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
    registers = []
    for register, value in result.image.registers.items():
        kind, offset = model.registers.find(register)
        registers += [
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
    return _BENCH.format(
        origin=job.origin.name
        if hasattr(job.origin, "name")
        else str(job.origin).rsplit("/", 1)[-1],
        name=name,
        beat_bytes=beat_bytes,
        beats=memory_size // beat_bytes,
        contents="\n".join(contents),
        registers="\n".join(registers),
        checks="\n".join(checks),
        second=second,
        far=far,
        limit=job.cycle_limit or 1_000_000_000,
        saved=sum(save.size for save in job.saves),
    )
