# SPDX-License-Identifier: BSD-2-Clause
"""The studio in a real Chromium: digits drawn with a mouse, recognised by five machines. Skipped
where there is no Chromium."""

import pytest

pytest.importorskip("selenium")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("onnx")

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
            assert {answer["equal"] for answer in page.answers(page.draw(strokes)).values()} == {
                "equal, every bit"
            }
        assert page.console() == []
