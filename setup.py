# SPDX-License-Identifier: BSD-2-Clause
"""Computes the package list from the folders, so that a wheel never lacks a package."""

from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
#: The package itself: names of the Python API.
TOP = "tools/package"
PACKAGES = ("gateware", "boards", "tools", "firmware")


def packages():
    found = ["quintet"]
    for name in PACKAGES:
        for folder in [ROOT / name, *sorted((ROOT / name).rglob("*"))]:
            if not folder.is_dir() or "__pycache__" in folder.parts or folder == ROOT / TOP:
                continue
            base = ROOT / TOP if folder.is_relative_to(ROOT / TOP) else ROOT
            if any(entry.is_file() for entry in folder.iterdir()):
                found.append("quintet." + ".".join(folder.relative_to(base).parts))
    return found


setup(
    packages=packages(),
    package_dir={"quintet": TOP, **{f"quintet.{name}": name for name in PACKAGES}},
    package_data={"": ["*"]},
    include_package_data=False,
)
