# SPDX-License-Identifier: BSD-2-Clause
"""The subcommands, one module each: ``arguments(parser)`` and ``run(args, console) -> exit
code``."""
