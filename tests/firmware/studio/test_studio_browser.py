# SPDX-License-Identifier: BSD-2-Clause
"""The studio in a real Chromium: digits drawn with a mouse, recognised by five machines. Skipped
where there is no Chromium."""

import pytest

pytest.importorskip("selenium")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("onnx")

from quintet.firmware import digits
from tests.firmware.studio.browser import Page
from tests.firmware.studio.served import Served
from tests.firmware.studio.strokes import STROKES
from tests.support.browser import CHROMIUM, DRIVER, browser

pytestmark = pytest.mark.skipif(None in (CHROMIUM, DRIVER), reason="no Chromium with its driver")


def recognised(page, most=20):
    right = dict.fromkeys(("cherry", "imagine", "opentpu", "opu", "pim"), 0)
    for shown, strokes in STROKES[:most]:
        answers = page.answers(page.draw(strokes))
        for isa, answer in answers.items():
            right[isa] += answer["class"] == str(shown)
    return right


def test_twenty_digits_on_golden_models():
    with Served("--models") as studio, browser() as driver:
        page = Page(driver, studio.address)
        assert min(recognised(page).values()) >= 18
        assert page.console() == []


@pytest.fixture(scope="module")
def page():
    """A page whose cards stand for golden models."""
    with Served("--models") as studio, browser() as driver:
        yield Page(driver, studio.address)


def shown(page, selector, isa="opu"):
    """Text of a part of a card."""
    return page.driver.execute_script(
        "return document.querySelector(`article[data-isa='${arguments[0]}'] ${arguments[1]}`)"
        ".innerText",
        isa,
        selector,
    )


def test_only_the_last_of_two_questions_is_answered_on_the_cards(page):
    before = page.driver.execute_script("return document.body.dataset.request || ''")
    page.driver.execute_script("for (const number of [0, 1]) ask({ kind: 'example', number })")
    page.wait(f"(document.body.dataset.request || '') !== '{before}'")
    request = page.driver.execute_script("return document.body.dataset.request")
    label = str(digits.labels()[1])
    assert {answer["class"] for answer in page.answers(request).values()} == {label}
    assert digits.labels()[0] != digits.labels()[1]
    assert label in page.driver.execute_script(
        "return document.getElementById('truth').textContent"
    )


def test_a_question_that_is_refused_leaves_no_card_waiting(page):
    page.driver.execute_script(
        "ask({ kind: 'ink', width: 8, height: 8, data: btoa('\\0'.repeat(64)) })"
    )
    page.wait("document.getElementById('trouble').textContent")
    assert "the drawing is empty" in page.driver.execute_script(
        "return document.getElementById('trouble').textContent"
    )
    assert shown(page, ".class") == "–"


@pytest.mark.parametrize(
    "state, text, seconds, words",
    [
        ("opening", "", 41, "opening (for 41 s)"),
        ("opening", "compiling gateware to C++", 0, "compiling gateware to C++"),
        ("busy", "", 5, "at work (for 5 s)"),
        ("ready", "", 60, "ready"),
    ],
)
def test_a_state_that_lasts_shows_its_seconds(page, state, text, seconds, words):
    page.driver.execute_script(
        "const [state, text, seconds] = arguments, card = cards.get('opu');"
        "keep({ ...machines.get(card.place.value), state, text, seconds });"
        "show(card);",
        state,
        text,
        seconds,
    )
    assert shown(page, ".state") == words


@pytest.mark.parametrize(
    "event, time, clock",
    [
        (
            {"microseconds": 340.14, "clock_hz": 70e6, "clock_note": "70.7 MHz by place and route"},
            "340.1 µs at 70 MHz",
            "70.7 MHz by place and route",
        ),
        ({"clock_note": "no build has been routed"}, "not known", "no build has been routed"),
        ({"clock_note": ""}, "–", ""),
    ],
    ids=["routed", "never routed", "golden model"],
)
def test_a_time_says_its_clock(page, event, time, clock):
    page.driver.execute_script(
        "result(cards.get('opu'), { cycles: 23810, seconds: 1, probabilities: [1, 0], class: 0,"
        " equal: true, request: 1, ...arguments[0] })",
        event,
    )
    assert (shown(page, ".time"), shown(page, ".clock")) == (time, clock)
    assert page.driver.execute_script("return cards.get('opu').clocked.hidden") == (not clock)


def test_interrupt_while_a_page_is_open():
    with Served("--models") as studio, browser() as driver:
        Page(driver, studio.address)
        said = studio.stop()
        assert "Traceback" not in said and "ERROR" not in said


def test_a_phone_in_the_dark():
    with Served("--models") as studio, browser("390,800") as driver:
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
        )
        page = Page(driver, studio.address)
        assert driver.execute_script(
            "return document.documentElement.scrollWidth <= window.innerWidth"
        )
        assert (
            driver.execute_script("return getComputedStyle(document.body).backgroundColor")
            == "rgb(20, 24, 26)"
        )
        driver.execute_script(
            "document.getElementById('clear').click(); document.getElementById('example').click()"
        )
        page.answers(page.wait("document.body.dataset.request"))
        assert page.console() == []


@pytest.mark.long
def test_twenty_digits_on_virtual_boards():
    with Served() as studio, browser() as driver:
        page = Page(driver, studio.address)
        for _, strokes in STROKES:
            answers = page.answers(page.draw(strokes))
            assert {answer["equal"] for answer in answers.values()} == {"equal, every bit"}
            # Builds of all five have been routed.
            assert all(" µs at " in answer["time"] for answer in answers.values())
        assert page.console() == []
