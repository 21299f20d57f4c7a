# SPDX-License-Identifier: BSD-2-Clause
"""The picture of the architecture is drawn from what is there, and is current."""
import xml.etree.ElementTree as ElementTree

from quintet.gateware.cores import open_room, room_names
from quintet.tools.pages import pictures


def test_architecture_is_current():
    text = (pictures.FOLDER / "architecture.svg").read_text()
    assert pictures.architecture() == text, "python -m quintet.tools.pages.pictures draws it again"
    shown = {element.text for element in ElementTree.fromstring(text).iter() if element.tag.endswith("text")}
    assert {open_room(name).isa.ISA.title for name in room_names()} <= shown
