# SPDX-License-Identifier: BSD-2-Clause
"""The registers of a core as amaranth-soc sees them."""

import gc
import io
import warnings

import pytest

from quintet.gateware.bus.soclib import MemoryMap, csr, wishbone
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.shell.core import CoreShell
from quintet.gateware.shell.register_map import register_map


def test_header_of_luna_soc():
    """luna-soc's generator reads the registers and their access."""
    from luna_soc.generate.c import Header

    found = MemoryMap(addr_width=32, data_width=8)
    found.add_window(register_map(open_core("opentpu").isa.ISA), name="core", addr=0x8000_0000)
    text = io.StringIO()
    Header(found, {}).generate(text)
    assert "#define CONTROL_ADDRESS (0x80000010U)" in text.getvalue()
    assert "control_write(uint32_t value)" in text.getvalue()
    assert "control_read" not in text.getvalue()


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_core_behind_a_decoder():
    package = open_core("opentpu")
    core = CoreShell(
        package=package,
        params=package.params.SPACE.resolve("sim"),
        beat_bytes=4,
        memory_size=1 << 16,
    )
    decoder = wishbone.Decoder(addr_width=30, data_width=32, granularity=8)
    other = MemoryMap(addr_width=12, data_width=8)
    spare = wishbone.Interface(addr_width=10, data_width=32, granularity=8)
    spare.memory_map = other
    decoder.add(spare, name="spare", addr=0)
    start, end, ratio = decoder.add(core.bus, name="core", addr=0x8000_0000)
    assert (start, end, ratio) == (0x8000_0000, 0x8000_1000, 1)
    found = {info.path[-1][0]: info for info in decoder.bus.memory_map.all_resources()}
    assert (found["control"].start, found["control"].end) == (0x8000_0010, 0x8000_0014)
    assert found["cnt_cycles"].start == 0x8000_0080 and found["cnt_cycles"].end == 0x8000_0088
    assert (
        isinstance(found["status"].resource, csr.Register)
        and "bit 0 busy" in found["status"].resource.__doc__
    )
    element = found["program_address"].resource.element
    assert element.access.readable() and element.access.writable() and element.width == 32
    assert (
        not found["control"].resource.element.access.readable()
        and not found["ident"].resource.element.access.writable()
    )
    assert found["hostmem_base"].start >= 0x8000_0100


@pytest.mark.parametrize("name", core_names())
def test_every_core_has_one_and_nothing_warns(name):
    isa = open_core(name).isa.ISA
    absent = [r.name for r in isa.registers if r.only_if is not None]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        names = [name[0] for _, name, _ in register_map(isa).resources()]
        gc.collect()
    assert not [w for w in warned if "csr" in str(w.message) or "register_map" in str(w.message)]
    assert len(names) == sum(r.count for r in isa.registers) + len(isa.counters) + 14 + 10
    assert not set(absent) & {name[0] for _, name, _ in register_map(isa, absent).resources()}
