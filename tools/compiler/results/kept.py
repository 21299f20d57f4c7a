# SPDX-License-Identifier: BSD-2-Clause
"""Checkpoints of long commands: results are written as they come, so that an interrupted command
can resume."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ....gateware.isa.files import FileError, load_array, read_bytes
from ...errors import InputError
from ...jobs.arrays import encode
from ...outputs import place_below, write_places
from ...text import plain_names

if TYPE_CHECKING:
    from ...console import Console

__all__ = [
    "CHUNK",
    "KeptOutputs",
    "KeptResults",
    "digest_of",
    "plan_identity",
    "interruption_note",
]

#: Inputs between two writes, at least; a multiple of those that a run takes.
CHUNK = 256
#: Folder, in that of the results, of what is done so far; gone when all is done.
_PARTIAL = ".partial"
_STATE = "state.json"
_MOST_STATE = 1 << 26


class _Kept:
    """Checkpoint folder of one command, identified by ``identity``, a digest of its plan, inputs
    and options."""

    #: For messages: what the folder may hold instead of what is gone on with.
    OTHER = ""

    def __init__(self, folder, identity: str, *, resume: bool):
        self.folder = Path(folder)
        self._partial = self.folder / _PARTIAL
        self._identity = identity
        if not resume:
            self._drop()

    def _drop(self):
        shutil.rmtree(self._partial, ignore_errors=True)

    def _read_state(self, read):
        """Reads the saved state by ``read(state)``, if there is one."""
        path = self._partial / _STATE
        try:
            state = json.loads(read_bytes(path, _MOST_STATE))
            if state["identity"] == self._identity:
                read(state)
                return
        except FileError as error:
            if error.missing:
                return
            raise InputError(f"--resume: {error}") from None
        except (ValueError, KeyError, TypeError):
            raise InputError(f"--resume: {path} is damaged; leave --resume out") from None
        raise InputError(
            f"--resume: {self.folder} holds {self.OTHER}; leave --resume out, or choose another "
            f"folder"
        )

    def _write(self, files, **state):
        """Writes ``files`` (name -> bytes), then the state, which makes them valid."""
        state = {"identity": self._identity, **state}
        write_places(
            {place_below(self._partial, name): data for name, data in files.items()}
            | {place_below(self._partial, _STATE): json.dumps(state).encode()}
        )


class KeptResults(_Kept):
    """Named results in a folder: a checkpoint file that grows with each result, replaced by one
    JSON file at the end.

    Parameters
    ----------
    folder : path
    name : str
        Of the JSON file.
    identity : str
        Of the command (:func:`digest_of`).
    resume : bool
        Go on with what the folder holds; else that is dropped.

    Attributes
    ----------
    results : dict
        Name -> what JSON can hold.
    """

    OTHER = "results of another command"

    def __init__(self, folder: str | Path, name: str, identity: str, *, resume: bool):
        super().__init__(folder, identity, resume=resume)
        self._name = name
        self.results: dict = {}
        if resume:
            self._read_state(lambda state: self.results.update(state["results"]))

    @property
    def done(self) -> int:
        """Number of results so far."""
        return len(self.results)

    def add(self, name: str, result: object) -> None:
        """Writes the next result, a JSON value."""
        self.results[name] = result
        self._write({}, results=self.results)

    def finish(self, values: dict) -> None:
        """Writes the file of all results and removes the checkpoint."""
        data = json.dumps(values, indent=1).encode() + b"\n"
        write_places({place_below(self.folder, self._name): data})
        self._drop()


class KeptOutputs(_Kept):
    """Network outputs in a folder: one chunk of inputs at a time, joined at the end into one
    ``.npy`` per output.

    Parameters
    ----------
    folder : path
    plan_folder : path
        Of the plan: what is done with another one is not gone on with.
    inputs : dict
        Name -> array, the first axis the inputs; the same holds for them.
    resume : bool
        Go on with what the folder holds; else that is dropped.
    reset_every : int, optional
        Inputs of a sequence, of a network with states; the same holds for it.

    Attributes
    ----------
    done : int
        Inputs whose outputs are written.

    Raises
    ------
    InputError
        ``resume``, and the folder holds outputs of another plan or of other inputs.
    """

    OTHER = "outputs of another plan or of other inputs"

    def __init__(
        self,
        folder: str | Path,
        plan_folder: str | Path,
        inputs: dict[str, np.ndarray],
        *,
        resume: bool,
        reset_every: int | None = None,
    ):
        identity = plan_identity(plan_folder, inputs)
        if reset_every is not None:
            identity = digest_of(identity, reset_every)
        super().__init__(folder, identity, resume=resume)
        self._count = len(next(iter(inputs.values())))
        self._starts: list[int] = []
        self.done = 0
        if resume:
            self._read_state(self._go_on)

    def _go_on(self, state):
        self._starts, self.done = list(state["starts"]), int(state["done"])
        if self.done >= self._count:  # ended before they were joined: something is left to run
            self.done = self._starts.pop()

    def add(self, outputs: dict[str, np.ndarray]) -> None:
        """Writes the outputs of the next inputs, name -> array."""
        files = plain_names(outputs)
        start, count = self.done, len(next(iter(outputs.values())))
        self._starts.append(start)
        self.done += count
        self._write(
            {f"{files[name]}-{start}.npy": encode(array) for name, array in outputs.items()},
            starts=self._starts,
            done=self.done,
        )

    def finish(self, names: list[str]) -> dict[str, np.ndarray]:
        """Joins the chunks into one file for each of ``names`` and returns the outputs."""
        files = plain_names(names)
        try:
            outputs = {
                name: np.concatenate(
                    [
                        load_array(self._partial / f"{files[name]}-{start}.npy")
                        for start in self._starts
                    ]
                )
                for name in names
            }
        except FileError as error:
            raise InputError(f"{error}; leave --resume out") from None
        write_places(
            {
                place_below(self.folder, f"{files[name]}.npy"): encode(array)
                for name, array in outputs.items()
            }
        )
        self._drop()
        return outputs


@contextmanager
def interruption_note(
    console: Console, kept: KeptResults | KeptOutputs | None, count: int, what: str
) -> Iterator[None]:
    """Context manager: prints how many of a command's ``count`` results are kept if a signal ends
    it."""
    try:
        yield
    except KeyboardInterrupt:
        if kept is not None and kept.done:
            console.note(
                f"{kept.done:,} of {count:,} {what} are kept in {kept.folder}; the same command "
                f"with --resume goes on"
            )
        raise


def plan_identity(plan_folder: str | Path, inputs: dict[str, np.ndarray]) -> str:
    """A digest of the plan in a folder and of inputs."""
    return digest_of(read_bytes(Path(plan_folder) / "plan.toml"), inputs)


def digest_of(*parts: object) -> str:
    """SHA digest of a list of values: bytes, arrays by name, and the text of any other value."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, dict):
            for name, array in sorted(part.items()):
                digest.update(f"{name} {array.dtype} {array.shape} ".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
        else:
            digest.update(part if isinstance(part, bytes) else f"{part!r} ".encode())
    return digest.hexdigest()
