// SPDX-License-Identifier: BSD-2-Clause
// Cells at the ends of carry chains without the nets that ABC gave them there: nextpnr would build cells to bring them in and out.
// The ports stay, since nextpnr looks for them, connected to nothing, which its netlist calls x.
(* techmap_celltype = "CCU2C_FIRST CCU2C_LAST" *)
module _80_quintet_ecp5_carry_end (CIN, A0, B0, C0, D0, A1, B1, C1, D1, S0, S1, COUT);
	parameter INIT0 = 0;
	parameter INIT1 = 0;
	parameter INJECT1_0 = "NO";
	parameter INJECT1_1 = "NO";
	parameter _TECHMAP_CELLTYPE_ = "";
	input CIN, A0, B0, C0, D0, A1, B1, C1, D1;
	output S0, S1, COUT;
	generate
		if (_TECHMAP_CELLTYPE_ == "CCU2C_FIRST")
			CCU2C #(.INIT0(INIT0), .INIT1(INIT1), .INJECT1_0(INJECT1_0), .INJECT1_1(INJECT1_1)) _TECHMAP_REPLACE_ (
				.CIN(1'bx), .A0(A0), .B0(B0), .C0(C0), .D0(D0), .A1(A1), .B1(B1), .C1(C1), .D1(D1), .S0(S0), .S1(S1), .COUT(COUT));
		else
			CCU2C #(.INIT0(INIT0), .INIT1(INIT1), .INJECT1_0(INJECT1_0), .INJECT1_1(INJECT1_1)) _TECHMAP_REPLACE_ (
				.CIN(CIN), .A0(A0), .B0(B0), .C0(C0), .D0(D0), .A1(A1), .B1(B1), .C1(C1), .D1(D1), .S0(S0), .S1(S1), .COUT(1'bx));
	endgenerate
endmodule
