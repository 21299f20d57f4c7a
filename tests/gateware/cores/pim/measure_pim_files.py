# SPDX-License-Identifier: BSD-2-Clause
"""Times import, disassembly and assembly of millions of random legal instructions (specification, section 10, item 9).

``python tests/gateware/cores/pim/measure_pim_files.py [COUNT]``; seconds of processor time.
"""
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from test_pim_text import canonical_words

from quintet.gateware.cores.pim.image.codes import code_of
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import Program, assemble_text, disassemble, load_program, save_program


def main(count):
    base = canonical_words(20_000)
    words = base[np.random.default_rng(1).integers(0, len(base), count)]
    words = words[(words & np.uint64(63) != 25) | (words >> np.uint64(11) & np.uint64(1) == 0)]
    data = Image([CoreProgram(code_of(words, 2), len(words), mode=2, groups=[Group(4, 4, (0,))])]).data()
    print(f"{len(words):,} instructions, {len(data):,} bytes")
    state = {"then": time.process_time()}

    def lap(what, good=True):
        now = time.process_time()
        print(f"{what:24}{now - state['then']:6.1f} s{'' if good else '  DIFFERENT'}", flush=True)
        state["then"] = time.process_time()
    text = disassemble(SOFTWARE, data)
    lap("disassemble")
    lap("assemble", assemble_text(SOFTWARE, text).data == data)
    del text
    with tempfile.TemporaryDirectory() as folder:
        save_program(SOFTWARE, Program(data), f"{folder}/x.json")
        lap("write .json")
        lap("import .json", load_program(SOFTWARE, Path(folder) / "x.json").data == data)
        save_program(SOFTWARE, Program(data), f"{folder}/d/")
        lap("write .pim")
        lap("import .pim", load_program(SOFTWARE, Path(folder) / "d").data == data)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)
