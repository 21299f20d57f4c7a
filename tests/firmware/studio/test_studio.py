# SPDX-License-Identifier: BSD-2-Clause
"""The studio without a browser: pictures, requests, who may ask, what machines tell."""

import asyncio
import base64
import io
import json
import queue
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("onnx")

from starlette.testclient import TestClient

from quintet.boards import open_board
from quintet.firmware import digits
from quintet.firmware.studio import application, command
from quintet.firmware.studio.networks import DigitsNetwork, PlanNetwork
from quintet.firmware.studio.pictures import (
    digit,
    image_shape,
    image_values,
    npy_values,
    probabilities,
)
from quintet.firmware.studio.places import first_places, list_places
from quintet.firmware.studio.studio import Studio
from quintet.firmware.studio.target import StudioTarget
from quintet.tools import targets
from quintet.tools.build.reached import reached_clock
from quintet.tools.cli import main
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.target_build import target_build
from quintet.tools.errors import Exit, InputError
from quintet.tools.targets.model import ModelTarget

TOKEN, PORT = "a-token", 8765
OWN = {"Origin": f"http://127.0.0.1:{PORT}"}


def text64(array):
    return base64.b64encode(np.asarray(array, np.uint8).tobytes()).decode()


# Pictures


def test_drawing_is_cut_out_and_set_in_the_middle():
    ink = np.zeros((100, 60), np.uint8)
    ink[70:90, 5:10] = 255  # an upright bar, four times as high as wide
    pixels = digit(ink).reshape(8, 8)
    assert (pixels[:, 3:5] == 16).all() and pixels.sum() == 16 * 16


def test_areas_are_averaged():
    ink = np.zeros((64, 64), np.uint8)
    ink[::2] = 255
    assert (digit(ink).reshape(8, 8)[1:7] == 8).all()


def test_empty_drawing():
    with pytest.raises(InputError, match="the drawing is empty"):
        digit(np.zeros((8, 8), np.uint8))


@pytest.mark.parametrize(
    "shape, found",
    [
        ((3, 32, 48), (32, 48, 3, True)),
        ((96, 96, 3), (96, 96, 3, False)),
        ((49, 10), (49, 10, 1, False)),
        ((784,), (28, 28, 1, False)),
        ((640,), None),
        ((2, 4, 4), None),
    ],
)
def test_inputs_that_can_be_pictures(shape, found):
    assert image_shape(shape) == found


def test_picture_as_values():
    rgb = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 4, 3)
    assert (image_values(rgb, (3, 2, 4), 0, 255) == rgb.transpose(2, 0, 1)).all()
    assert (image_values(rgb, (2, 4, 3), -1, 1) == rgb * 2 / 255 - 1).all()
    assert image_values(np.full((5, 5, 3), 255, np.uint8), (25,), 0, 1) == pytest.approx(
        np.ones(25)
    )


@pytest.mark.parametrize(
    "shape, size, low, high, message",
    [
        ((4, 4), (4, 4), 1, 1, "range 1 to 1: expected two numbers"),
        ((4, 4), (4, 4), 0, float("nan"), "range 0 to nan"),
        ((640,), (4, 4), 0, 1, r"an input of the shape \[640\] cannot be an image"),
        ((4, 4), (4, 5), 0, 1, "the image has 5 x 4 pixels, expected 4 x 4"),
    ],
)
def test_pictures_that_do_not_fit(shape, size, low, high, message):
    with pytest.raises(InputError, match=message):
        image_values(np.zeros((*size, 3), np.uint8), shape, low, high)


def test_arrays():
    file = io.BytesIO()
    np.save(file, np.arange(12).reshape(2, 6))
    assert npy_values(file.getvalue(), (6,)).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(
        InputError, match=r"has the shape \[2, 6\], expected finite numbers of the shape \[5\]"
    ):
        npy_values(file.getvalue(), (5,))
    for data in (b"", b"nonsense", file.getvalue()[:40], file.getvalue()[:-8]):
        with pytest.raises(InputError, match="expected an .npy of numbers"):
            npy_values(data, (6,))
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], object), allow_pickle=True)
    with pytest.raises(InputError, match="expected an .npy of numbers"):
        npy_values(pickled.getvalue(), (1,))


def test_probabilities():
    assert probabilities([0.5, 0.25, 0.25]).tolist() == [0.5, 0.25, 0.25]
    found = probabilities([1000.0, 0, -1000])
    assert found[0] == 1 and found.sum() == pytest.approx(1)


# Machines and requests


@pytest.fixture
def studio():
    made = Studio(
        [DigitsNetwork("mlp", "Digits", "mlp.onnx")],
        [(f"model:{isa}", isa, "golden model") for isa in ("opu", "cherry")],
        ["model:opu"],
    )
    yield made
    made.close()


@pytest.fixture
def client(studio):
    return TestClient(
        application.make_application(studio, TOKEN, PORT), base_url=f"http://127.0.0.1:{PORT}"
    )


def until(listener, kind, count):
    found = []
    while len(found) < count:
        event = listener.get(timeout=60)
        if event["kind"] == kind:
            found.append(event)
    return found


def test_machines_answer_as_golden_models_do(studio):
    listener = studio.listen()
    asked = [
        studio.recognise(
            {
                "network": "mlp",
                "machines": ["model:opu", "model:cherry"],
                "input": {"kind": "example", "number": n},
            }
        )
        for n in range(6)
    ]
    found = until(listener, "result", 12)
    for n, request in enumerate(asked):
        assert request["pixels"] == digits.images()[n].tolist()
        mine = [event for event in found if event["request"] == request["request"]]
        assert {event["machine"] for event in mine} == {"model:opu", "model:cherry"}
        assert all(
            event["class"] == digits.labels()[n] and abs(sum(event["probabilities"]) - 1) < 1e-3
            for event in mine
        )
    studio.leave(listener)


def test_counters_of_a_result_are_those_of_its_run(studio):
    """On the golden model, whose counters of two runs of one program are the same."""
    listener = studio.listen()
    for number in (0, 1):
        studio.recognise(
            {
                "network": "mlp",
                "machines": ["model:opu"],
                "input": {"kind": "example", "number": number},
            }
        )
    first, second = until(listener, "result", 2)
    assert first["counters"]["instructions"] > 0 and first["counters"] == second["counters"]
    studio.leave(listener)


class VirtualBoard(ModelTarget):
    """The golden model in a virtual board's place; its runs take 8,000 cycles."""

    def __init__(self, name):
        build = target_build(name)
        super().__init__(name=name, isa=build.isa, preset=build.preset)
        on_chip, _ = open_board(build.board).on_chip_memory(self.package, build.preset, {})
        self.info = replace(
            self.info,
            kind="sim",
            board=build.board,
            clock_hz=build.clock_hz,
            memory={"on_chip": {"size": on_chip}},
        )

    def wait(self, **options):
        outcome = super().wait(**options)
        return replace(outcome, counters={**outcome.counters, "cycles": 8000})


def _timed(name, monkeypatch):
    """The answer of a virtual board to a digit."""
    open_target = targets.open_target
    monkeypatch.setattr(
        targets,
        "open_target",
        lambda name, *rest: (VirtualBoard if name.startswith("sim:") else open_target)(name),
    )
    isa = target_build(name).isa
    made = Studio([DigitsNetwork("mlp", "Digits", "mlp.onnx")], [(name, isa, "virtual")])
    listener = made.listen()
    made.recognise(
        {"network": "mlp", "machines": [name], "input": {"kind": "example", "number": 3}}
    )
    (answer,) = until(listener, "result", 1)
    made.close()
    assert answer["cycles"] and answer["equal"]
    return answer


@pytest.mark.parametrize("isa, preset", [("opu", "85f"), ("imagine", "85f")])
def test_times_are_at_a_clock_that_builds_have_reached(isa, preset, monkeypatch):
    """IMAGine counts cycles of its array's clock."""
    answer = _timed(f"sim:ulx3s-85f/{isa}?preset={preset}", monkeypatch)
    build = target_build(f"sim:ulx3s-85f/{isa}?preset={preset}")
    reached = reached_clock("ulx3s-85f", isa, preset)
    ratio = backend_class(isa)(params=build.params, memory_size=build.memory_size).clock_ratio
    assert answer["clock_note"] == str(reached)
    assert answer["clock_hz"] == min(build.clock_hz, reached.hz) * ratio
    assert answer["microseconds"] == pytest.approx(answer["cycles"] / answer["clock_hz"] * 1e6)


def test_a_build_that_was_never_routed_has_no_time(monkeypatch):
    answer = _timed("sim:ulx3s-45f/opu?preset=25f", monkeypatch)
    assert answer["clock_note"] == "no build of 25f has been routed for ulx3s-45f"
    assert answer["clock_hz"] is None and answer["microseconds"] is None


def test_example_comes_with_its_true_label(studio):
    asked = studio.recognise(
        {"network": "mlp", "machines": ["model:opu"], "input": {"kind": "example", "number": 3}}
    )
    assert asked["label"] == digits.labels()[3]
    drawn = studio.recognise(
        {
            "network": "mlp",
            "machines": ["model:opu"],
            "input": {"kind": "ink", "width": 8, "height": 8, "data": text64(np.full((8, 8), 255))},
        }
    )
    assert "label" not in drawn


def test_machines_are_called_by_their_titles(studio):
    assert {one["isa"]: one["title"] for one in studio.described()["machines"]} == {
        "opu": "OPU",
        "cherry": "Cherry",
    }


def test_live_counters_carry_the_number_of_their_request(monkeypatch):
    from quintet.firmware.studio import target as studio_target

    monkeypatch.setattr(studio_target, "_LOOK", 0)
    told = []
    watcher = StudioTarget("model:opu", "opu", "golden model", told.append)
    watcher._request = 5
    plan = DigitsNetwork("mlp", "Digits", "mlp.onnx")
    monkeypatch.setattr("quintet.tools.compiler.session.Session", lambda plan, target: target)
    watcher._session(plan, Counting()).wait()
    assert told == [
        {"kind": "counters", "machine": "model:opu", "request": 5, "counters": {"cycles": 42}}
    ]


def test_machine_that_cannot_be_opened_says_why():
    told = queue.SimpleQueue()
    target = StudioTarget("socket://127.0.0.1:9", "opu", "nobody", told.put)
    target.run(7, None, {})
    events = [told.get(timeout=60) for _ in range(3)]
    target.close()
    assert (
        [event["kind"] for event in events] == ["state", "state", "error"]
        and events[1]["state"] == "failed"
        and events[2]["request"] == 7
    )
    assert "127.0.0.1:9" in events[2]["error"]


def test_a_state_says_how_long_it_has_lasted():
    """A further step of the same state, such as a compiler, does not begin anew."""
    target = StudioTarget("sim:ulx3s-85f/opu", "opu", "virtual", lambda event: None)
    target._become("opening")
    target._since -= 12
    target._become("opening", "compiling gateware to C++")
    assert 12 <= target.described()["seconds"] < 13
    target._become("ready")
    assert target.described()["seconds"] < 1


def test_closing_does_not_wait_for_what_takes_long(monkeypatch):
    import threading

    from quintet.firmware.studio import target as studio_target

    monkeypatch.setattr(studio_target, "PATIENCE", 0.05)
    begun, go_on = threading.Event(), threading.Event()
    slow = StudioTarget("model:opu", "opu", "golden model", lambda event: None)
    slow._put(lambda: (begun.set(), go_on.wait(60)))
    slow.run(1, None, {})
    assert begun.wait(60)
    slow.close()
    assert slow._queue.qsize() == 1  # nothing but the end: what was asked for is forgotten
    go_on.set()


class Counting:
    """A target whose run takes a while."""

    class registers:
        counters = ("cycles",)

    def wait(self, tick):
        tick(0.1)
        return "outcome"

    def read_register(self, name):
        return {"cnt_cycles": 42}[name]


def test_counters_are_told_while_a_run_is_under_way(monkeypatch):
    from quintet.firmware.studio import target as studio_target

    monkeypatch.setattr(studio_target, "_LOOK", 0)
    told = []
    assert studio_target._Watched(Counting(), told.append).wait() == "outcome" and told == [
        {"cycles": 42}
    ]


def test_plan_runs_on_machines_of_its_build(tmp_path):
    plan = tmp_path / "net"
    assert (
        main(
            [
                "compile",
                str(digits.FOLDER / "mlp.onnx"),
                "--for",
                "model:opu",
                "--calibrate",
                f"{digits.FOLDER / 'digits.npz'}:calibration",
                "-o",
                str(plan),
            ]
        )
        == Exit.OK
    )
    network = PlanNetwork("plan0", plan)
    made = Studio(
        [network],
        [("model:opu", "opu", "golden model"), ("model:cherry", "cherry", "golden model")],
    )
    listener = made.listen()
    file = io.BytesIO()
    np.save(file, digits.images()[:1].astype(np.float32))
    made.recognise(
        {
            "network": "plan0",
            "machines": ["model:opu"],
            "input": {"kind": "npy", "data": base64.b64encode(file.getvalue()).decode()},
        }
    )
    assert until(listener, "result", 1)[0]["class"] == digits.labels()[0]
    picture = {"kind": "image", "data": text64(np.zeros((8, 8, 3))), "low": 0, "high": 16}
    made.recognise({"network": "plan0", "machines": ["model:opu"], "input": picture})
    assert len(until(listener, "result", 1)[0]["probabilities"]) == 10
    with pytest.raises(InputError, match=r"digits_mlp \(net\) is compiled for opu, not for cherry"):
        made.recognise({"network": "plan0", "machines": ["model:cherry"], "input": picture})
    with pytest.raises(InputError, match="is not a digits network; expected an image or an .npy"):
        made.recognise(
            {
                "network": "plan0",
                "machines": ["model:opu"],
                "input": {"kind": "example", "number": 1},
            }
        )
    made.close()


GOOD = {"network": "mlp", "machines": ["model:opu"], "input": {"kind": "example", "number": 3}}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"network": "mpl"}, "network 'mpl': expected one of mlp"),
        ({"network": ["mlp"]}, "network"),
        ({"machines": []}, "machines: expected a list of at least one"),
        ({"machines": "model:opu"}, "machines: expected a list"),
        (
            {"machines": ["sim:ulx3s-85f/opu?trace=/etc/passwd"]},
            "machine 'sim:ulx3s-85f/opu?trace=/etc/passwd': expected one of",
        ),
        ({"input": None}, "input: expected an object"),
        ({"input": {"kind": "file"}}, "kind 'file': expected ink, image, npy or example"),
        ({"input": {"kind": "example", "number": 540}}, "number 540: expected 0 to 539"),
        ({"input": {"kind": "example", "number": "1"}}, "number '1'"),
        (
            {"input": {"kind": "ink", "width": 4, "height": 8, "data": ""}},
            "width 4: expected 8 to 512",
        ),
        (
            {"input": {"kind": "ink", "width": 8, "height": 8, "data": "AA=="}},
            "data: 1 bytes, expected 8 x 8",
        ),
        (
            {"input": {"kind": "ink", "width": 8, "height": 8, "data": "???"}},
            "data: expected bytes in base64",
        ),
        ({"input": {"kind": "ink", "width": 8, "height": 8}}, "data: expected bytes in base64"),
        (
            {"input": {"kind": "ink", "width": 8, "height": 8, "data": text64(np.zeros(64))}},
            "the drawing is empty",
        ),
        (
            {"input": {"kind": "image", "data": text64(np.zeros(192)), "low": True, "high": 1}},
            "low: expected a number",
        ),
    ],
)
def test_requests_that_are_refused(client, change, message):
    answer = client.post(f"/{TOKEN}/api/recognise", json={**GOOD, **change}, headers=OWN)
    assert answer.status_code == 400 and message in answer.json()["error"]


def test_bodies(client, monkeypatch):
    post = lambda body: client.post(f"/{TOKEN}/api/recognise", content=body, headers=OWN)  # noqa: E731
    for body in (b"", b"{", b"\xff\xfe", b"[" * 100_000):
        assert (post(body).status_code, post(body).json()["error"]) == (400, "expected JSON")
    assert post(b"[]").json()["error"] == "expected an object"
    assert post(b" " * (application.MOST_BYTES + 1)).status_code == 413
    assert post(json.dumps(GOOD)).status_code == 200


def test_bodies_that_take_too_long(studio, monkeypatch):
    """Asked as a server asks it: a client of tests sends whole bodies."""
    monkeypatch.setattr(application, "BODY_SECONDS", 0.1)
    made, sent = application.make_application(studio, TOKEN, PORT), []

    async def receive():
        await asyncio.sleep(0.03)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message):
        sent.append(message)

    headers = [*OWN.items(), ("Host", f"127.0.0.1:{PORT}")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/{TOKEN}/api/recognise",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(made(scope, receive, send))
    assert sent[0]["status"] == 408 and b"no whole body in 0.1 s" in sent[1]["body"]


def test_streams_of_events_are_few(client, studio):
    listeners = [studio.listen() for _ in range(application.MOST_LISTENERS)]
    answer = client.get(f"/{TOKEN}/api/events")
    assert answer.status_code == 503 and "16 pages look on: close one" in answer.json()["error"]
    assert studio.listen(application.MOST_LISTENERS) is None
    assert client.post(f"/{TOKEN}/api/recognise", json=GOOD, headers=OWN).status_code == 200
    for listener in listeners:
        studio.leave(listener)


def npy_header(shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


@pytest.mark.parametrize(
    "data",
    [
        npy_header("(1000000000000, 1000000)") + bytes(64),
        npy_header("(" * 60 + ")" * 60),
        npy_header("(-1,)"),
        b"PK\x03\x04" + bytes(60),
        b"PK\x05\x06" + bytes(18),
        b"\x93NUMPY",
        b"",
    ],
    ids=["huge", "nested", "negative", "zip", "empty zip", "cut off", "nothing"],
)
def test_uploads_that_are_no_arrays(data):
    with pytest.raises(InputError, match="expected an .npy of numbers"):
        npy_values(data, (8, 8))


def test_a_browser_is_shown_a_file_of_this_user_alone(monkeypatch):
    """The address holds the token; a command line could be read by all users."""
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    with command._shown_in_browser("http://127.0.0.1:1/secret/"):
        (place,) = shown
        assert place.startswith("file://") and "secret" not in place
        path = Path(unquote(urlsplit(place).path))
        assert path.stat().st_mode & 0o777 == 0o600
        assert 'content="0;url=http://127.0.0.1:1/secret/"' in path.read_text()
    assert not path.exists()


# Who may ask


def test_page_and_its_files(client):
    page = client.get(f"/{TOKEN}/")
    assert (
        page.status_code == 200
        and "quintet" in page.text
        and "default-src 'none'" in page.headers["content-security-policy"]
    )
    assert page.headers["referrer-policy"] == "no-referrer"
    for name in ("studio.js", "studio.css", "quintet.css"):
        assert client.get(f"/{TOKEN}/{name}").status_code == 200 and f'"{name}"' in page.text
    state = client.get(f"/{TOKEN}/api/state").json()
    assert [network["key"] for network in state["networks"]] == ["mlp"] and state["chosen"] == [
        "model:opu"
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/other/",
        "/other/api/state",
        f"/{TOKEN}",
        f"/{TOKEN}/application.py",
        f"/{TOKEN}/../application.py",
        f"/{TOKEN}/%2e%2e/application.py",
        f"/{TOKEN}/page/index.html",
        f"/{TOKEN}//etc/passwd",
    ],
)
def test_nothing_else_can_be_had(client, path):
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code in (307, 404) and "import" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{PORT + 1}"},
    ],
)
def test_other_origins_may_not_post(client, headers):
    answer = client.post(f"/{TOKEN}/api/recognise", json=GOOD, headers=headers)
    assert (
        answer.status_code == 403
        and answer.json()["error"] == "a post must come from the page itself"
    )


def test_names_that_lead_here_from_elsewhere(client):
    assert client.get(f"/{TOKEN}/", headers={"Host": "elsewhere.example"}).status_code == 400


def test_only_posts_may_change_anything(client):
    assert client.get(f"/{TOKEN}/api/recognise").status_code == 404


# Places and the command


def test_places():
    places = list_places()
    names = [name for name, _, _ in places]
    assert len(set(names)) == len(names) and {
        "model:opu",
        "sim:ulx3s-85f/opu",
        "sim:icebreaker/opentpu",
    } <= set(names)
    assert "sim:fomu/cherry" not in names and "sim:fomu/opu" in names  # Cherry was found too large
    assert first_places(places, "ulx3s-85f") == [
        f"sim:ulx3s-85f/{isa}" for isa in ("cherry", "imagine", "opentpu", "opu", "pim")
    ]
    assert first_places(places, None) == [
        f"model:{isa}" for isa in ("cherry", "imagine", "opentpu", "opu", "pim")
    ]
    assert "/dev/ttyUSB7" in first_places(
        [("/dev/ttyUSB7", "opu", "ulx3s"), *places], "ulx3s-85f", ["/dev/ttyUSB7"]
    )


@pytest.mark.parametrize(
    "args, message",
    [
        (["--port", "70000"], "--port 70000: expected 0 to 65535"),
        (["--board", "nowhere"], "nowhere"),
        (["--plan", "nowhere"], "nowhere"),
        (
            ["--on", "model:opu"],
            "--on model:opu: expected a port; models and virtual boards are on the page already",
        ),
    ],
)
def test_command_refuses(args, message, capsys):
    assert main(["studio", "--no-browser", *args]) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err


def test_browser_that_is_quicker_than_the_server_waits():
    import socket

    from quintet.firmware.studio.command import _listen

    with (
        _listen(0) as listener,
        socket.create_connection(listener.getsockname(), timeout=5) as early,
    ):
        assert early.getpeername() == listener.getsockname()


def test_port_that_is_taken(capsys):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["studio", "--models", "--no-browser", "--port", str(port)]) == Exit.BAD_INPUT
    assert f"--port {port}: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["starlette", "uvicorn", "onnx"])
def test_extra_that_is_missing(missing, monkeypatch, capsys):
    import sys

    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["studio", "--no-browser"]) == Exit.NO_DEVICE
    assert "missing: pip install 'onnx>=1.16' 'starlette>=0.37'" in capsys.readouterr().err
