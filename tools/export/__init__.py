# SPDX-License-Identifier: BSD-2-Clause
"""What a design gives to other tools: memory maps, ports of Verilog, test benches."""
