# SPDX-License-Identifier: BSD-2-Clause
"""Reading and writing of a plan's folder: ``plan.toml`` describes it and holds a checksum of every
other file."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ....gateware.isa.files import FileError, load_archive, read_bytes
from ....gateware.isa.parameters import params_hash
from ...examples import user_path
from ...jobs.arrays import encode
from ...outputs import place_below, write_places
from ...toml_files import TomlError, read_toml
from ..backends.base import LayerSpan, Lowered, Placed
from ..graph import Graph, Port, State
from ..layout import layout_of
from .plan import CoreStep, HostStep, Plan, PlanError
from .schema import LOWERED, STEPS, SUMMARY, check_fields
from .stored import of_stored, stored

__all__ = ["load_plan", "save_plan"]

_FORMAT = 2
#: Of a plan with states, which a reader of format 2 would run without them.
_STATE_FORMAT = 3
_FILE = "plan.toml"


def save_plan(plan: Plan, folder: str | Path) -> None:
    """Writes ``plan`` into ``folder``, which is created if needed; writes all files or none.

    Raises
    ------
    PlanError
        The folder holds files that are no plan.
    """
    folder = Path(folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _FILE).exists():
        raise PlanError(
            f"{folder}: holds files that are no plan; expected a new or empty folder, or one "
            f"with a {_FILE}"
        )
    files: dict[str, bytes] = {}
    arrays, steps = {}, []
    for number, step in enumerate(plan.steps):
        body = step.part if isinstance(step, CoreStep) else step.graph
        network, found = stored(body)
        arrays.update({f"s{number}.{key}": value for key, value in found.items()})
        entry = {"network": network}
        if isinstance(step, CoreStep):
            entry["lowered"] = _lowered(step.lowered, number, files)
            if step.buffered_copy is not None:
                # The file's name for a double-buffered copy.
                entry["twin"] = _lowered(step.buffered_copy, f"{number}_twin", files)
        steps.append(entry)
    ports = {key: stored(getattr(plan, key))[0] for key in ("inputs", "outputs")}
    body = {"steps": steps, **ports, "choices": plan.choices, "notes": plan.notes}
    if plan.states:
        body["states"], found = stored(plan.states)
        arrays.update({f"states.{key}": value for key, value in found.items()})
    if plan.vocabulary:
        body["vocabulary"] = list(plan.vocabulary)
    files["steps.json"] = json.dumps(body, default=_number).encode()
    files["network.npz"] = encode(arrays)
    files[_FILE] = _summary(plan, files).encode()
    # The summary comes last: without it there is no plan.
    write_places(
        {
            place_below(folder, name): data
            for name, data in sorted(files.items(), key=lambda item: item[0] == _FILE)
        }
    )


def _number(value):
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} in a plan")


def _lowered(lowered, number, files):
    """Serialises a program for JSON; its bytes are added to ``files``, in names with ``number``."""
    files[f"program_{number}.bin"] = lowered.program
    files.update({f"setup_{number}_{n}.bin": data for n, (data, _) in enumerate(lowered.setup)})
    if lowered.text:
        files[f"program_{number}.s"] = lowered.text.encode()
    files[f"constants_{number}.npz"] = encode(
        {f"c{n}": np.asarray(data, np.uint8) for n, (_, data, _) in enumerate(lowered.constants)}
    )
    placed = {
        key: [[name, p.tensor, p.layout.as_dict()] for name, p in getattr(lowered, key).items()]
        for key in ("inputs", "outputs", "tensors", "states")
        if key != "states" or lowered.states
    }
    return {
        "program_at": lowered.program_at,
        "registers": lowered.registers,
        "constants": [[at, what] for at, _, what in lowered.constants],
        "zeros": [list(pair) for pair in lowered.zeros],
        "images": lowered.images,
        "memory": lowered.memory,
        "params": lowered.params,
        "setup": [at for _, at in lowered.setup],
        "layers": [asdict(span) for span in lowered.layers],
        "again": lowered.again,
        **placed,
    }


def _summary(plan, files):
    """Generates the text of ``plan.toml``."""
    quoted = json.dumps
    lines = [f"# {line}" for line in plan.notes]
    lines += [
        f"format = {_STATE_FORMAT if plan.states else _FORMAT}",
        f"network = {quoted(plan.network)}",
        f"isa = {quoted(plan.isa)}",
    ]
    lines += [
        f"{key} = {quoted(value)}"
        for key, value in (("preset", plan.preset), ("board", plan.board), ("target", plan.target))
        if value is not None
    ]
    lines += [
        f"params_hash = {params_hash(plan.params):#x}",
        f"memory_size = {plan.memory_size}",
        f"memory = {plan.memory}",
        f"cycles = {round(plan.cycles)}       # estimated, for one input",
    ]
    if plan.snr is not None:
        lines += [f"snr = {plan.snr}       # dB against floating point, on calibration inputs"]
    lines += [
        "",
        "[params]",
    ]
    lines += [f"{key} = {quoted(value)}" for key, value in plan.params.items()]
    for what, ports in (("input", plan.inputs), ("output", plan.outputs)):
        for port in ports:
            lines += [
                "",
                f"[[{what}]]",
                f"name = {quoted(port.name)}",
                f"shape = {list(port.shape)}",
            ]
    lines += ["", "[sha256]"] + [
        f"{quoted(name)} = {quoted(hashlib.sha256(data).hexdigest())}"
        for name, data in sorted(files.items())
    ]
    return "\n".join(lines) + "\n"


# Reading


def load_plan(folder: str | Path) -> Plan:
    """Reads a plan from its folder, with all checks of its files.

    Raises
    ------
    PlanError
        No plan, or a plan with a missing, changed or damaged file.
    """
    folder = Path(user_path(folder))
    path = folder / _FILE
    try:
        summary = read_toml(path)
    except FileError as error:
        raise PlanError(
            f"{folder}: is a file; expected the folder of a plan, as quintet compile writes it"
            if Path(folder).is_file()
            else f"{folder}: no {_FILE} there: no plan"
            if error.missing
            else str(error)
        ) from None
    except TomlError as error:
        raise PlanError(str(error)) from None
    if summary.get("format") not in (_FORMAT, _STATE_FORMAT):
        raise PlanError(
            f"{path}: format = {summary.get('format')!r}: expected {_FORMAT} or {_STATE_FORMAT}"
        )
    check_fields(path, summary, SUMMARY)
    files = {name: _file(folder, name, digest) for name, digest in summary["sha256"].items()}
    try:
        return _plan(summary, files, folder)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise PlanError(f"{folder}: the plan is damaged: {type(error).__name__}: {error}") from None


def _file(folder, name, digest):
    try:
        data = read_bytes(folder / name)
    except FileError as error:
        raise PlanError(
            f"{folder / name} is missing from the plan" if error.missing else str(error)
        ) from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise PlanError(
            f"{folder / name} is not the file that the plan was written with; compile the "
            f"network again"
        )
    return data


def _plan(summary, files, folder):
    body = json.loads(files["steps.json"])
    check_fields(folder / "steps.json", body, STEPS)
    arrays = load_archive(folder / "network.npz")
    steps = []
    for number, entry in enumerate(body["steps"]):
        prefix = f"s{number}."
        own = {key[len(prefix) :]: value for key, value in arrays.items() if key.startswith(prefix)}
        network = of_stored(entry["network"], own)
        for key in entry.keys() & {"lowered", "twin"}:
            check_fields(
                folder / "steps.json", entry[key], LOWERED, within=f"steps[{number}].{key}."
            )
        if "lowered" in entry:
            copy = (
                _of_lowered(entry["twin"], f"{number}_twin", files, folder)
                if "twin" in entry
                else None
            )
            steps.append(
                CoreStep(network, _of_lowered(entry["lowered"], number, files, folder), copy)
            )
        elif isinstance(network, Graph):
            steps.append(HostStep(network))
        else:
            raise ValueError(f"step {number} is no graph")
    ports = {key: of_stored(body[key], {}) for key in ("inputs", "outputs")}
    if not all(isinstance(port, Port) for key in ports for port in ports[key]):
        raise ValueError("its inputs and outputs are no ports")
    for port in (*ports["inputs"], *ports["outputs"]):
        _check_numbers(port, "offset")
        _check_numbers(port, "factor")
    own = {
        key.removeprefix("states."): value
        for key, value in arrays.items()
        if key.startswith("states.")
    }
    states = of_stored(body.get("states", []), own)
    for state in states:
        _check_state(state)
    params = dict(summary["params"])
    if params_hash(params) != summary["params_hash"]:
        raise ValueError("params_hash does not belong to these params")
    return Plan(
        network=summary["network"],
        isa=summary["isa"],
        preset=summary.get("preset"),
        board=summary.get("board"),
        target=summary.get("target"),
        params=params,
        memory_size=summary["memory_size"],
        **ports,
        steps=steps,
        choices=body["choices"],
        notes=body["notes"],
        snr=summary.get("snr"),
        states=states,
        vocabulary=tuple(body.get("vocabulary", ())),
    )


def _check_state(state):
    """Checks that a state names existing ports and has an initial value of the right shape."""
    if not (
        isinstance(state, State)
        and isinstance(state.input, Port)
        and isinstance(state.output, Port)
        and isinstance(state.initial, np.ndarray)
    ):
        raise ValueError("a state has no input, output or initial value")
    if state.initial.shape != state.input.shape or not np.isfinite(state.initial).all():
        raise ValueError(
            f"initial value of {state.input.name}: expected finite numbers of the shape "
            f"{list(state.input.shape)}"
        )


def _check_numbers(port, field):
    """Checks that an offset or factor fits the last axis of a port."""
    numbers = getattr(port, field)
    if numbers is None:
        return
    wanted = port.shape[port.order[-1]]
    if len(numbers) != wanted or not np.isfinite(numbers).all():
        raise ValueError(f"{field} of {port.name}: expected {wanted} finite numbers")


def _of_lowered(entry, number, files, folder):
    constants = (
        load_archive(folder / f"constants_{number}.npz")
        if f"constants_{number}.npz" in files
        else {}
    )
    placed = {
        key: {name: Placed(tensor, layout_of(layout)) for name, tensor, layout in entry[key]}
        for key in ("inputs", "outputs", "tensors", "states")
        if key in entry
    }
    layers = [
        LayerSpan(
            **{
                **span,
                "nodes": tuple(span["nodes"]),
                "cut": span["cut"] and tuple(map(tuple, span["cut"])),
            }
        )
        for span in entry["layers"]
    ]
    return Lowered(
        program=files[f"program_{number}.bin"],
        text=files.get(f"program_{number}.s", b"").decode(),
        program_at=entry["program_at"],
        registers=entry["registers"],
        constants=[
            (at, constants[f"c{n}"], what) for n, (at, what) in enumerate(entry["constants"])
        ],
        zeros=[tuple(pair) for pair in entry["zeros"]],
        images=entry["images"],
        memory=entry["memory"],
        params=entry["params"],
        layers=layers,
        again=entry["again"],
        setup=[(files[f"setup_{number}_{n}.bin"], at) for n, at in enumerate(entry["setup"])],
        **placed,
    )
