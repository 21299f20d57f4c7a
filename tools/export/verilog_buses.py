# SPDX-License-Identifier: BSD-2-Clause
"""Verilog of the buses around a core in its test bench: memory models, and tasks for register
accesses."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MEMORIES", "REGISTERS", "BusBench"]


@dataclass(frozen=True)
class BusBench:
    """Test bench text for one bus: declarations and models, connections of the core, and for
    registers the task that accesses one."""

    models: str
    ports: str
    task: str = ""


_PORT = BusBench(
    """\
  // Memory port: one request at a time; an address beyond the memory is answered with an error.
  localparam BYTES = {bytes}, BEATS = {beats};
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
""",
    """\
    .memory__req__payload(req), .memory__req__valid(req_valid), .memory__req__ready(state == IDLE),
    .memory__w__payload(w), .memory__w__valid(w_valid), .memory__w__ready(state == WRITE),
    .memory__r__payload(r), .memory__r__valid(state == READ), .memory__r__ready(r_ready),
    .memory__ack__payload(bad), .memory__ack__valid(state == DONE), .memory__ack__ready(ack_ready),
""",
)

_WISHBONE = BusBench(
    """\
  // Memory: a Wishbone slave of classic cycles; an address beyond it is answered with err.
  localparam BYTES = {bytes}, BEATS = {beats}, BASE = 32'h{base:x};
  reg [8*BYTES-1:0] memory [0:BEATS-1];
  wire [31 - $clog2(BYTES):0] m_adr;
  wire [8*BYTES-1:0] m_dat_w;
  wire [BYTES-1:0] m_sel;
  wire m_cyc, m_stb, m_we;
  reg answers = 0;
  wire [31:0] at = m_adr - BASE / BYTES;
  wire outside = at >= BEATS;
  wire [8*BYTES-1:0] word = outside ? {{8*BYTES{{1'b0}}}} : memory[at];
  integer lane;
  always @(posedge clk) begin
    answers <= m_cyc & m_stb & ~answers & ~rst;
    if (m_cyc && m_stb && m_we && answers && !outside)
      for (lane = 0; lane < BYTES; lane = lane + 1)
        if (m_sel[lane]) memory[at][8*lane +: 8] <= m_dat_w[8*lane +: 8];
  end
""",
    """\
    .memory__adr(m_adr), .memory__dat_w(m_dat_w), .memory__dat_r(word), .memory__sel(m_sel),
    .memory__cyc(m_cyc), .memory__stb(m_stb), .memory__we(m_we),
    .memory__ack(answers & ~outside), .memory__err(answers & outside),
""",
)

_AXI4 = BusBench(
    """\
  // Memory: an AXI4 slave of one burst a direction; an address beyond it is answered with SLVERR.
  localparam BYTES = {bytes}, BEATS = {beats}, BASE = 32'h{base:x};
  reg [8*BYTES-1:0] memory [0:BEATS-1];
  wire [31:0] m_awaddr, m_araddr;
  wire [7:0] m_arlen;
  wire [8*BYTES-1:0] m_wdata;
  wire [BYTES-1:0] m_wstrb;
  wire m_awvalid, m_wvalid, m_wlast, m_bready, m_arvalid, m_rready;
  reg reading = 0, writing = 0, written = 0, bad = 0;
  reg [31:0] r_at = 0, w_at = 0;
  reg [7:0] r_left = 0;
  wire r_outside = r_at >= BEATS, w_outside = w_at >= BEATS;
  wire [8*BYTES-1:0] word = r_outside ? {{8*BYTES{{1'b0}}}} : memory[r_at];
  integer lane;
  always @(posedge clk)
    if (rst) begin
      reading <= 0; writing <= 0; written <= 0;
    end else begin
      if (m_arvalid && !reading) begin
        reading <= 1; r_at <= (m_araddr - BASE) / BYTES; r_left <= m_arlen;
      end else if (reading && m_rready) begin
        r_at <= r_at + 1; r_left <= r_left - 1; reading <= r_left != 0;
      end
      if (m_awvalid && !writing) begin
        writing <= 1; w_at <= (m_awaddr - BASE) / BYTES; bad <= 0;
      end
      if (writing && !written && m_wvalid) begin
        for (lane = 0; lane < BYTES; lane = lane + 1)
          if (m_wstrb[lane] && !w_outside) memory[w_at][8*lane +: 8] <= m_wdata[8*lane +: 8];
        bad <= bad | w_outside; w_at <= w_at + 1; written <= m_wlast;
      end
      if (written && m_bready) begin
        writing <= 0; written <= 0;
      end
    end
""",
    """\
    .memory__awaddr(m_awaddr), .memory__awvalid(m_awvalid), .memory__awready(~writing),
    .memory__wdata(m_wdata), .memory__wstrb(m_wstrb), .memory__wlast(m_wlast),
    .memory__wvalid(m_wvalid), .memory__wready(writing & ~written),
    .memory__bid(1'b0), .memory__bresp({{bad, 1'b0}}), .memory__bvalid(written),
    .memory__bready(m_bready),
    .memory__araddr(m_araddr), .memory__arlen(m_arlen), .memory__arvalid(m_arvalid),
    .memory__arready(~reading),
    .memory__rid(1'b0), .memory__rdata(word), .memory__rresp({{r_outside, 1'b0}}),
    .memory__rlast(r_left == 0),
    .memory__rvalid(reading), .memory__rready(m_rready),
""",
)

_NATIVE = BusBench(
    """\
  // Memory behind LiteDRAM's native port: one command at a time.
  localparam BYTES = {bytes}, BEATS = {beats}, BASE = 32'h{base:x};
  reg [8*BYTES-1:0] memory [0:BEATS-1];
  wire [31 - $clog2(BYTES):0] m_addr;
  wire [8*BYTES-1:0] m_data;
  wire [BYTES-1:0] m_enable;
  wire m_valid, m_we;
  reg reading = 0, writing = 0;
  reg [31:0] at = 0;
  wire [8*BYTES-1:0] word = at >= BEATS ? {{8*BYTES{{1'b0}}}} : memory[at];
  integer lane;
  always @(posedge clk) begin
    reading <= m_valid & ~reading & ~writing & ~m_we & ~rst;
    writing <= m_valid & ~reading & ~writing & m_we & ~rst;
    if (!reading && !writing) at <= m_addr - BASE / BYTES;
    if (writing)
      for (lane = 0; lane < BYTES; lane = lane + 1)
        if (m_enable[lane] && at < BEATS) memory[at][8*lane +: 8] <= m_data[8*lane +: 8];
  end
""",
    """\
    .memory__cmd_valid(m_valid), .memory__cmd_ready(~reading & ~writing), .memory__cmd_we(m_we),
    .memory__cmd_addr(m_addr),
    .memory__wdata_ready(writing), .memory__wdata_data(m_data), .memory__wdata_we(m_enable),
    .memory__rdata_valid(reading), .memory__rdata_data(word),
""",
)

#: Memory model of each bus of :data:`~quintet.gateware.core.BUSES`; fields `bytes`, `beats`,
#: `base`.
MEMORIES = {"port": _PORT, "wishbone": _WISHBONE, "axi4": _AXI4, "native": _NATIVE}

#: Master of the registers for each bus of :data:`~quintet.gateware.core.REGISTER_BUSES`; field
#: `prefix`, of the core's ports.
REGISTERS = {
    "wishbone": BusBench(
        """\
  // Register block: Wishbone, one classic cycle a word.
  reg [9:0] adr = 0;
  reg [31:0] dat_w = 0;
  reg cyc = 0, we = 0;
  wire [31:0] dat_r;
  wire ack, busy, fault, interrupt;
""",
        """\
    .{prefix}__adr(adr), .{prefix}__dat_w(dat_w), .{prefix}__dat_r(dat_r), .{prefix}__sel(4'hf),
    .{prefix}__cyc(cyc), .{prefix}__stb(cyc), .{prefix}__we(we), .{prefix}__ack(ack),
""",
        """\
      adr <= address[11:2]; dat_w <= data; we <= write; cyc <= 1;
      @(posedge clk);
      while (!ack) @(posedge clk);
      value = dat_r;
      cyc <= 0;
""",
    ),
    "axi4-lite": BusBench(
        """\
  // Register block: AXI4-Lite, one access at a time.
  reg [11:0] s_addr = 0;
  reg [31:0] s_wdata = 0;
  reg reads = 0, writes = 0;
  wire [31:0] s_rdata;
  wire s_awready, s_wready, s_bvalid, s_arready, s_rvalid, busy, fault, interrupt;
""",
        """\
    .{prefix}__awaddr(s_addr), .{prefix}__awprot(3'd0), .{prefix}__awvalid(writes),
    .{prefix}__awready(s_awready),
    .{prefix}__wdata(s_wdata), .{prefix}__wstrb(4'hf), .{prefix}__wvalid(writes),
    .{prefix}__wready(s_wready),
    .{prefix}__bvalid(s_bvalid), .{prefix}__bready(1'b1),
    .{prefix}__araddr(s_addr), .{prefix}__arprot(3'd0), .{prefix}__arvalid(reads),
    .{prefix}__arready(s_arready),
    .{prefix}__rdata(s_rdata), .{prefix}__rvalid(s_rvalid), .{prefix}__rready(1'b1),
""",
        """\
      s_addr <= address; s_wdata <= data; writes <= write; reads <= !write;
      @(posedge clk);
      while (!(write ? s_awready && s_wready : s_arready)) @(posedge clk);
      writes <= 0; reads <= 0;
      while (!s_bvalid && !s_rvalid) @(posedge clk);
      value = s_rdata;
""",
    ),
}
