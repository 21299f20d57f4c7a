# SPDX-License-Identifier: BSD-2-Clause
"""What an instruction set is: table, operands, registers, parameters; below everything else. Pure
Python."""
