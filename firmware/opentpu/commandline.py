# SPDX-License-Identifier: BSD-2-Clause
"""What the commands of this folder share: errors of one line, exit codes as ``quintet`` has them (docs/command-line.md)."""
import argparse
import sys

from quintet.tools.errors import Exit, exit_code

__all__ = ["Parser", "guarded"]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""
    def error(self, message):
        self.exit(Exit.BAD_INPUT, f"{self.prog}: {message} (see --help)\n")


def guarded(name, work):
    """The exit code of ``work()``; what a user has caused is one line on standard error."""
    try:
        return work()
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        print(f"{name}: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
