# SPDX-License-Identifier: BSD-2-Clause
import pytest

from quintet.gateware.cores import Room, RoomError, open_room, room_names


def test_rooms_are_found():
    assert {"opentpu", "opu"} <= set(room_names())
    with pytest.raises(RoomError, match="no ISA named 'nowhere'; there are"):
        open_room("nowhere")


@pytest.mark.parametrize("name", room_names())
def test_a_room_names_itself(name):
    room = open_room(name)
    assert room.isa.ISA.name == room.params.SPACE.isa == name


def test_a_room_may_have_a_model_alone():
    assert open_room("opentpu").has_core
    half = Room("half", "quintet.tools")
    assert not half.has_core
    with pytest.raises(
        RoomError, match="half has no gateware, only a golden model; its programs run on model:half"
    ):
        half.core  # noqa: B018
