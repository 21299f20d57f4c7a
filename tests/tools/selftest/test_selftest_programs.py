# SPDX-License-Identifier: BSD-2-Clause
"""Built-in programs of the self-test: they fit into main memory, or there are none."""
from quintet.gateware.cores import open_room
from quintet.tools.selftest.programs import plain_program


def test_a_plain_program_lies_in_main_memory():
    params = open_room("opentpu").params.SPACE.resolve("up5k-4x4")
    for size in (1 << 12, 1 << 17):
        plain = plain_program("opentpu", params, size)
        ends = [address + len(data) for address, data in plain.loads] + [sum(plain.results), *(plain.registers[name] for name in ("hostmem_limit", "weights_limit"))]
        assert max(ends) <= size
        # Nothing lies on anything else.
        places = sorted((address, address + len(data)) for address, data in plain.loads)
        assert all(first[1] <= second[0] for first, second in zip(places, places[1:], strict=False))
    assert plain_program("opentpu", params, 256) is None
    assert plain_program("opu", {}, 1 << 20) is None
