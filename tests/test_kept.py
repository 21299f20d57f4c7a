# SPDX-License-Identifier: BSD-2-Clause
"""Kept netlists are those of the same sources, arguments and maker, and not too many."""

import os

import pytest

from tests.support import kept as module
from tests.support.kept import kept


class Kept:
    """A folder of kept texts, and sources whose state a test sets."""

    def __init__(self, folder):
        self.folder, self.state, self.made = folder / "kept", "first", 0
        self.maker = folder / "maker.py"
        self.maker.write_text("one")

    def make(self):
        self.made += 1
        return f"text {self.made}"

    def text(self, name="name", state=None, make=None):
        """The kept text, as a process reads it that began with the sources in ``state``."""
        module._sources.cache_clear()
        self.state = state or self.state
        return kept(
            name, make or self.make, self.maker, self.folder, lambda board, package: self.state
        )


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.delenv("QUINTET_KEEP_NETLISTS", raising=False)
    yield Kept(tmp_path)
    module._sources.cache_clear()


def test_the_same_is_made_once(store):
    assert [store.text(), store.text(), store.text("other"), store.text()] == [
        "text 1",
        "text 1",
        "text 2",
        "text 1",
    ]


def test_other_sources_and_another_maker_are_another_text(store):
    assert store.text() == "text 1"
    assert store.text(state="second") == "text 2"
    assert store.text(state="first") == "text 1"
    store.maker.write_text("two")
    assert store.text() == "text 3"


def test_sources_that_change_meanwhile_keep_nothing(store):
    def edited():
        store.state = "second"
        return "of both"

    assert store.text(make=edited) == "of both"
    assert store.text(state="first") == "text 1" and store.text(state="second") == "text 2"


def test_unknown_sources_keep_nothing(store):
    module._sources.cache_clear()
    for number in (1, 2):
        text = kept("name", store.make, store.maker, store.folder, lambda board, package: None)
        assert text == f"text {number}"
    assert not store.folder.exists()


def test_it_can_be_turned_off(store, monkeypatch):
    monkeypatch.setenv("QUINTET_KEEP_NETLISTS", "0")
    assert [store.text(), store.text()] == ["text 1", "text 2"]
    assert not store.folder.exists()


def test_a_damaged_text_is_made_again(store):
    assert store.text() == "text 1"
    (file,) = store.folder.glob("*/text")
    file.write_bytes(b"damaged")
    assert store.text() == "text 2" == store.text()


def test_the_oldest_are_dropped(store, monkeypatch):
    monkeypatch.setattr(module, "MOST", 2)
    for number in range(3):
        store.text(str(number))
        for entry in store.folder.glob("*/"):
            os.utime(entry, (entry.stat().st_atime, entry.stat().st_mtime - 100))
    assert len(list(store.folder.glob("*/text"))) == 2
    assert store.text("2") == "text 3" and store.text("0") == "text 4"
