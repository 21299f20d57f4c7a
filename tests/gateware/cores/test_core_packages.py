# SPDX-License-Identifier: BSD-2-Clause
import re

import pytest

from quintet.gateware.cores import CoreError, CorePackage, core_names, open_core


def test_rooms_are_found():
    assert {"opentpu", "opu"} <= set(core_names())
    with pytest.raises(CoreError, match="no ISA named 'nowhere'; there are"):
        open_core("nowhere")


@pytest.mark.parametrize("name", core_names())
def test_a_core_package_names_itself(name):
    package = open_core(name)
    assert package.isa.ISA.name == package.params.SPACE.isa == name


def test_a_room_may_have_a_model_alone():
    assert open_core("opentpu").has_core
    half = CorePackage("half", "quintet.tools")
    assert not half.has_core
    with pytest.raises(
        CoreError, match="half has no gateware, only a golden model; its programs run on model:half"
    ):
        half.core  # noqa: B018


@pytest.mark.parametrize("part", ["model", "core", "software"])
def test_a_plug_in_that_cannot_be_imported_is_named_with_its_place(part, tmp_path, monkeypatch):
    # A name of its own each: Python keeps what it has imported.
    folder = tmp_path / f"broken{part}"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / f"{part}.py").write_text("A = 1\ndef (\n")
    monkeypatch.syspath_prepend(tmp_path)
    place = re.escape(str(folder / f"{part}.py"))
    with pytest.raises(
        CoreError, match=f"^core plug-in mine cannot be used: {place}:2: SyntaxError: "
    ):
        getattr(CorePackage("mine", folder.name), part)


def test_an_error_of_a_core_of_ours_is_not_a_plug_ins():
    with pytest.raises(ModuleNotFoundError):
        CorePackage("nowhere", "quintet.gateware.cores.nowhere").model  # noqa: B018
