# SPDX-License-Identifier: BSD-2-Clause
"""Outputs of a long inference, written as they come, so that an interrupted one goes on later."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np

from ....gateware.isa.files import FileError, load_array, read_bytes
from ...errors import InputError
from ...jobs.arrays import encode
from ...outputs import place_below, write_places
from ...text import plain_name

__all__ = ["CHUNK", "KeptOutputs"]

#: Inputs between two writes, at least; a multiple of those that a run takes.
CHUNK = 256
#: Folder, in that of the outputs, of what is done so far; gone when all is done.
_PARTIAL = ".partial"
_STATE = "state.json"
_MOST_STATE = 1 << 16


class KeptOutputs:
    """The outputs in a folder: one ``.npy`` for each output of the network, when all are done;
    until then a chunk of inputs at a time.

    Parameters
    ----------
    folder : path
    plan_folder : path
        Of the plan: what is done with another one is not gone on with.
    inputs : dict
        Name -> array, the first axis the inputs; the same holds for them.
    resume : bool
        Go on with what the folder holds; else that is dropped.

    Attributes
    ----------
    done : int
        Inputs whose outputs are written.

    Raises
    ------
    InputError
        ``resume``, and the folder holds outputs of another plan or of other inputs.
    """

    def __init__(self, folder, plan_folder, inputs: dict[str, np.ndarray], *, resume: bool):
        self.folder = Path(folder)
        self._partial = self.folder / _PARTIAL
        self._identity = _identity(plan_folder, inputs)
        self._count = len(next(iter(inputs.values())))
        self._starts: list[int] = []
        self.done = 0
        if resume:
            self._read_state()
        else:
            shutil.rmtree(self._partial, ignore_errors=True)

    def _read_state(self):
        path = self._partial / _STATE
        try:
            state = json.loads(read_bytes(path, _MOST_STATE))
            identity, starts, done = state["identity"], state["starts"], state["done"]
        except FileError as error:
            if error.missing:
                return
            raise InputError(f"--resume: {error}") from None
        except (ValueError, KeyError, TypeError):
            raise InputError(f"--resume: {path} is damaged; leave --resume out") from None
        if identity != self._identity:
            raise InputError(
                f"--resume: {self.folder} holds outputs of another plan or of other inputs; "
                f"leave --resume out, or choose another folder"
            )
        self._starts, self.done = list(starts), int(done)
        if self.done >= self._count:  # ended before they were joined: something is left to run
            self.done = self._starts.pop()

    def add(self, outputs: dict[str, np.ndarray]):
        """Write the outputs of the next inputs, name -> array."""
        start, count = self.done, len(next(iter(outputs.values())))
        self._starts.append(start)
        self.done += count
        state = {"identity": self._identity, "starts": self._starts, "done": self.done}
        # The state comes last: without it a chunk does not count.
        write_places(
            {
                place_below(self._partial, f"{plain_name(name)}-{start}.npy"): encode(array)
                for name, array in outputs.items()
            }
            | {place_below(self._partial, _STATE): json.dumps(state).encode()}
        )

    def finish(self, names: list[str]) -> dict[str, np.ndarray]:
        """Join what is written into one file for each of ``names``; the outputs."""
        try:
            outputs = {
                name: np.concatenate(
                    [
                        load_array(self._partial / f"{plain_name(name)}-{start}.npy")
                        for start in self._starts
                    ]
                )
                for name in names
            }
        except FileError as error:
            raise InputError(f"{error}; leave --resume out") from None
        write_places(
            {
                place_below(self.folder, f"{plain_name(name)}.npy"): encode(array)
                for name, array in outputs.items()
            }
        )
        shutil.rmtree(self._partial, ignore_errors=True)
        return outputs


def _identity(plan_folder, inputs):
    """A digest of a plan and of inputs."""
    digest = hashlib.sha256(read_bytes(Path(plan_folder) / "plan.toml"))
    for name, array in sorted(inputs.items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
