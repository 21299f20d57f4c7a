# SPDX-License-Identifier: BSD-2-Clause
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
