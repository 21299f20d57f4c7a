# SPDX-License-Identifier: BSD-2-Clause
"""One module per subcommand: ``arguments(parser)`` and ``run(args, console) -> exit code``."""
