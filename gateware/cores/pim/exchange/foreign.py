# SPDX-License-Identifier: BSD-2-Clause
"""Reader of the published forms: JSON programs, folders and files of ``.pim`` containers, and
companion files of groups (section 3.7)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ....isa.files import MOST_TEXT, FileError, gunzip, read_bytes
from ..asm.drafts import LIMITS, GroupDraft, SourceError
from ..asm.grouping import bias_array, load_npy, weight_matrix
from .container import RecordError, words_of_container
from .dialect import Encoder, Problem

__all__ = ["Foreign", "read_companion", "read_program", "companion_beside"]

#: Cores that a file may name.
_MOST_CORES = 1024


@dataclass
class Foreign:
    """A program in a published form, as read: words (uint64) by core, ``config`` from the file, and
    tolerated deviations with their number."""

    cores: dict[int, np.ndarray]
    config: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)


class _Bad:
    """Error in an instruction that could not be encoded."""

    __slots__ = ("message",)

    def __init__(self, message):
        self.message = message


def _text(path):
    try:
        data = read_bytes(path, MOST_TEXT)
        if data[:2] == b"\x1f\x8b":
            data = gunzip(path, data, MOST_TEXT)
        return data.decode("utf-8-sig")
    except FileError as error:
        raise SourceError(str(error)) from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: byte {error.start} is not UTF-8 text") from None


def _json(path, hook=None):
    text = _text(path)
    try:
        return json.loads(text, object_hook=hook)
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{path}: no JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise SourceError(f"{path}: JSON nested too deeply") from None
    except ValueError:
        raise SourceError(f"{path}: no JSON: a number is too long") from None


def _hook(encoder):
    word, encoder.encoded = encoder.word, 0

    def hook(d):
        # Instructions become words at once: millions of dicts would not fit memory.
        if "op" not in d:
            return d
        encoder.encoded += 1
        try:
            return word(d)
        except Problem as problem:
            return _Bad(str(problem))

    return hook


def _instructions(path, lists, encoder):
    """Encodes the instructions of ``lists`` (core -> name and list), which the JSON hook made:
    words by core."""
    found = {number: _words(path, name, listed) for number, (name, listed) in lists.items()}
    if sum(map(len, found.values())) != encoder.encoded:
        # A number that stands for itself would pass for a word; or an instruction stands where none
        # belongs.
        plain = _json(path)
        for name, _ in lists.values():
            for index, entry in enumerate(plain if isinstance(plain, list) else plain[name]):
                if not isinstance(entry, dict):
                    raise SourceError(
                        f"{path}: {name}, instruction {index}: no instruction, expected an "
                        f"object with op"
                    )
    return found


def _words(path, name, listed):
    if not isinstance(listed, list):
        raise SourceError(f"{path}: {name} is no list of instructions")
    try:
        return np.array(listed, dtype=np.uint64)
    except (TypeError, ValueError, OverflowError):
        pass
    for index, word in enumerate(listed):
        if isinstance(word, _Bad):
            raise SourceError(f"{path}: {name}, instruction {index}: {word.message}")
        if type(word) is not int or not 0 <= word < 1 << 64:
            raise SourceError(
                f"{path}: {name}, instruction {index}: no instruction, expected an object with op"
            )
    raise SourceError(f"{path}: {name} is no list of instructions")


def _number(name):
    return int(name[4:]) if re.fullmatch(r"core(0|[1-9][0-9]{0,3})", name) else None


def _count(path, config, raw, found):
    """Number of cores of a program; raises an error if core numbers are missing."""
    count = config.get("core_cnt", max(found, default=-1) + 1) if isinstance(config, dict) else None
    if not isinstance(config, dict):
        raise SourceError(f"{path}: config is no object")
    if type(count) is not int or not 0 <= count <= _MOST_CORES:
        raise SourceError(f"{path}: core_cnt is {str(count)[:40]}, expected 0 to {_MOST_CORES}")
    over = [k for k in found if k >= count]
    if over:
        raise SourceError(f"{path}: core{over[0]} is there and core_cnt is {count}")
    missing = [k for k in range(count) if k not in found]
    if missing and not raw:
        raise SourceError(f"{path}: core{missing[0]} is missing and core_cnt is {count}", None)
    return count


def _read_json(path, raw):
    encoder = Encoder(raw)
    whole = _json(path, _hook(encoder))
    if not isinstance(whole, dict):
        raise SourceError(
            f"{path}: no program, expected one object with config and core0, core1, .."
        )
    named = {_number(name): (name, listed) for name, listed in whole.items()}
    named.pop(None, None)
    cores = _instructions(path, named, encoder)
    config = whole.get("config", {})
    count = _count(path, config, raw, cores)
    if not cores and not count:
        raise SourceError(f"{path}: no program, expected core0, core1, ..")
    for k in range(count):
        cores.setdefault(k, np.zeros(0, np.uint64))
    return Foreign(cores, config, encoder.kinds)


def _read_container(path, encoder):
    try:
        return words_of_container(read_bytes(path), encoder)
    except FileError as error:
        raise SourceError(str(error)) from None
    except RecordError as error:
        index = "" if error.index is None else f"instruction {error.index}: "
        raise SourceError(f"{path}: {index}{error}") from None


def _core_number(path):
    match = re.fullmatch(r"core_(0|[1-9][0-9]{0,3})\.(pim|json)", Path(path).name)
    return int(match.group(1)) if match else None


def _read_folder(path, raw):
    encoder, cores, config = Encoder(raw), {}, {}
    for file in sorted(Path(path).iterdir()):
        number = _core_number(file)
        if number is None:
            continue
        if number in cores:
            raise SourceError(f"{path} has core {number} twice")
        if file.suffix == ".pim":
            cores[number] = _read_container(file, encoder)
        else:
            listed = _json(file, _hook(encoder))
            cores[number] = _instructions(file, {number: (f"core{number}", listed)}, encoder)[
                number
            ]
    if not cores:
        raise SourceError(f"{path} holds no program, expected core_0.pim, core_1.pim, ..")
    if (Path(path) / "config.json").is_file():
        config = _json(Path(path) / "config.json")
    for k in range(_count(path, config, raw, cores)):
        cores.setdefault(k, np.zeros(0, np.uint64))
    return Foreign(cores, config, encoder.kinds)


def read_program(path: str | Path, raw: bool = False) -> Foreign:
    """Reads a program in a published form: ``.json``, ``.gz`` (of the same), a folder, or one
    ``.pim``. Raises :class:`SourceError`."""
    path = Path(path)
    if path.is_dir():
        return _read_folder(path, raw)
    if path.name.endswith(".pim"):
        number = _core_number(path)
        if number is None:
            raise SourceError(f"{path}: of which core? expected a name core_<id>.pim")
        encoder = Encoder(raw)
        return Foreign({number: _read_container(path, encoder)}, {}, encoder.kinds)
    if path.name.endswith((".json", ".gz")):
        return _read_json(path, raw)
    raise SourceError(
        f"{path} is no form that can be imported, expected .json, .gz, .pim or a folder"
    )


# Groups


def companion_beside(path: str | Path) -> Path | None:
    """Path of the companion file of groups for ``path``, or ``None``."""
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    return next(
        (folder / name for name in ("groups.json", "groups.json.gz") if (folder / name).is_file()),
        None,
    )


def _group(path, who, entry):
    def wrong(message):
        raise SourceError(f"{path}: {who}: {message}")

    if not isinstance(entry, dict):
        wrong("no object")
    values = {}
    for key, legal in LIMITS.items():
        if key not in entry:
            if key in ("rows", "cols"):
                wrong(f"{key} is missing")
            continue
        value = entry[key]
        if isinstance(value, bool) and key == "round":
            value = int(value)
        if type(value) is not int or value not in legal:
            wrong(f"{key} is {str(value)[:40]}, expected {legal[0]} to {legal[-1]}")
        values[key] = value
    if entry.get("arrays") is not None:
        ids = entry["arrays"]
        if not isinstance(ids, list) or not all(type(k) is int for k in ids):
            wrong("arrays is no list of array ids")
        values["arrays"] = tuple(ids)
    draft = GroupDraft(**values)
    for key, convert in (("weights", weight_matrix), ("bias", bias_array)):
        given = entry.get(key)
        if given is None:
            continue
        if isinstance(given, str):
            given = load_npy(Path(path).parent / given)
        elif not isinstance(given, list):
            wrong(f"{key} is no list and no name of a .npy file")
        try:
            setattr(draft, key, convert(draft, given, who))
        except SourceError as error:
            raise SourceError(f"{path}: {error}") from None
    return draft


def read_companion(path: str | Path) -> dict[int, list[GroupDraft]]:
    """Reads a companion file: core -> list of :class:`GroupDraft`. Raises :class:`SourceError`."""
    whole = _json(path)
    if not isinstance(whole, dict):
        raise SourceError(f"{path}: no groups, expected one object with core0, core1, ..")
    found = {}
    for name, groups in whole.items():
        number = _number(name)
        if number is None:
            continue
        if not isinstance(groups, list):
            raise SourceError(f"{path}: {name} is no list of groups")
        found[number] = [
            _group(path, f"group {n} of core {number}", entry) for n, entry in enumerate(groups)
        ]
    return found
