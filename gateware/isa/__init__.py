# SPDX-License-Identifier: BSD-2-Clause
"""Instruction set descriptions: tables, operands, registers, parameters. They depend on no other
package of quintet. Pure Python."""
