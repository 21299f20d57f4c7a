// SPDX-License-Identifier: BSD-2-Clause
// Adders of an ECP5 that need no cells to get carries into their chain and out of it.
//
// What enters a chain by CIN, a constant too, costs nextpnr a whole CCU2C in front of it, and a COUT that has a net, read or not, one
// behind it. Here the first half of the first CCU2C makes the carry, from what is known of bit 0: its LUT of four inputs is 0, so that
// whatever comes by CIN goes nowhere. The attributes say where CIN and COUT are to be left out after mapping (carry_ends.v).
(* techmap_celltype = "$alu" *)
module _80_quintet_ecp5_alu (A, B, CI, BI, X, Y, CO);
	parameter A_SIGNED = 0;
	parameter B_SIGNED = 0;
	parameter A_WIDTH = 1;
	parameter B_WIDTH = 1;
	parameter Y_WIDTH = 1;
	parameter _TECHMAP_CONSTMSK_CI_ = 0;
	parameter _TECHMAP_CONSTVAL_CI_ = 0;
	parameter _TECHMAP_CONSTMSK_BI_ = 0;
	parameter _TECHMAP_CONSTVAL_BI_ = 0;

	(* force_downto *)
	input [A_WIDTH-1:0] A;
	(* force_downto *)
	input [B_WIDTH-1:0] B;
	input CI, BI;
	(* force_downto *)
	output [Y_WIDTH-1:0] X, Y, CO;

	// As in yosys: short ones are better off in LUTs.
	wire _TECHMAP_FAIL_ = Y_WIDTH <= 4;

	(* force_downto *)
	wire [Y_WIDTH-1:0] a, b;
	\$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_a (.A(A), .Y(a));
	\$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_b (.A(B), .Y(b));
	(* force_downto *)
	wire [Y_WIDTH-1:0] b_or_not = b ^ {Y_WIDTH{BI}};

	// An even number of bits: bit 0 is made by a LUT, the first half makes its carry. Otherwise a half is left over: it makes CI a carry.
	localparam DIRECT = _TECHMAP_CONSTMSK_CI_ && _TECHMAP_CONSTMSK_BI_ && Y_WIDTH % 2 == 0;
	localparam FIRST = DIRECT ? 1 : 0;                      // the bit in the first half behind that
	localparam HALVES = 1 + Y_WIDTH - FIRST;
	localparam CELLS = (HALVES + 1) / 2;
	localparam [3:0] GENERATE = _TECHMAP_CONSTVAL_CI_ ? (_TECHMAP_CONSTVAL_BI_ ? 4'b1011 : 4'b1110)
	                                                  : (_TECHMAP_CONSTVAL_BI_ ? 4'b0010 : 4'b1000);

	(* force_downto *)
	wire [2*CELLS-1:0] left, right, invert, sum;
	(* force_downto *)
	wire [CELLS:0] carry;
	assign carry[0] = 1'b0;
	assign left[0] = DIRECT ? a[0] : CI;
	assign right[0] = DIRECT ? b[0] : 1'b0;
	assign invert[0] = 1'b0;

	genvar i;
	generate
		for (i = 1; i < 2 * CELLS; i = i + 1) begin:half
			if (i < HALVES) begin
				assign left[i] = a[i - 1 + FIRST];
				assign right[i] = b[i - 1 + FIRST];
				assign Y[i - 1 + FIRST] = sum[i];
			end else begin
				assign left[i] = 1'b0;
				assign right[i] = 1'b0;
			end
			assign invert[i] = BI;
		end
		if (DIRECT) assign Y[0] = a[0] ^ b_or_not[0] ^ CI;
		for (i = 0; i < CELLS; i = i + 1) begin:pair
			// Of the first half the upper INIT bits, which D0 = 1 selects, are 0.
			localparam [15:0] INIT0 = i ? 16'h96AA : DIRECT ? {12'h000, GENERATE} : 16'h000A;
			if (i == 0) begin
				(* quintet_first *)
				CCU2C #(.INIT0(INIT0), .INIT1(16'h96AA), .INJECT1_0("NO"), .INJECT1_1("NO")) cell_i (.CIN(carry[i]),
					.A0(left[2*i]), .B0(right[2*i]), .C0(invert[2*i]), .D0(1'b1),
					.A1(left[2*i+1]), .B1(right[2*i+1]), .C1(invert[2*i+1]), .D1(1'b1), .S0(sum[2*i]), .S1(sum[2*i+1]), .COUT(carry[i+1]));
			end else if (i == CELLS - 1) begin
				(* quintet_last *)
				CCU2C #(.INIT0(INIT0), .INIT1(16'h96AA), .INJECT1_0("NO"), .INJECT1_1("NO")) cell_i (.CIN(carry[i]),
					.A0(left[2*i]), .B0(right[2*i]), .C0(invert[2*i]), .D0(1'b1),
					.A1(left[2*i+1]), .B1(right[2*i+1]), .C1(invert[2*i+1]), .D1(1'b1), .S0(sum[2*i]), .S1(sum[2*i+1]));
			end else begin
				CCU2C #(.INIT0(INIT0), .INIT1(16'h96AA), .INJECT1_0("NO"), .INJECT1_1("NO")) cell_i (.CIN(carry[i]),
					.A0(left[2*i]), .B0(right[2*i]), .C0(invert[2*i]), .D0(1'b1),
					.A1(left[2*i+1]), .B1(right[2*i+1]), .C1(invert[2*i+1]), .D1(1'b1), .S0(sum[2*i]), .S1(sum[2*i+1]), .COUT(carry[i+1]));
			end
		end
	endgenerate

	assign X = a ^ b_or_not;
	// A carry out of a bit is the majority of its operands and of its sum, inverted; nobody takes it from the chain.
	assign CO = a & b_or_not | (a | b_or_not) & ~Y;
endmodule
