# SPDX-License-Identifier: BSD-2-Clause
"""Pages of results in a real Chromium without any network: nothing is fetched, nothing complained
of, every chart is drawn. Skipped where there is no Chromium."""

import base64
import json

import pytest

pytest.importorskip("selenium")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("onnx")

from quintet.firmware import digits, opentpu
from quintet.tools.cli import main
from tests.support.browser import CHROMIUM, DRIVER, browser, complaints
from tests.tools.report.samples import sample, stored

pytestmark = pytest.mark.skipif(None in (CHROMIUM, DRIVER), reason="no Chromium with its driver")

_DATA = digits.FOLDER / "digits.npz"
#: Page -> charts that it has at least.
PAGES = {"run": 4, "infer": 5, "compare": 9, "plan": 4, "build": 3, "matrix": 2}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Folder of results: the digits' job and network on virtual boards, compared on all cores; a
    build and a matrix."""
    folder = tmp_path_factory.mktemp("results")

    def write(name, *args):
        from contextlib import redirect_stdout

        with open(folder / f"{name}.json", "w") as file, redirect_stdout(file):
            assert main([*map(str, args), "--json"]) == 0

    job = next(iter(opentpu.__path__)) + "/digits/digits_norm_n8.toml"
    write("run", "run", job, "--on", "sim:ulx3s-85f/opentpu", "--out", folder / "out")
    write(
        "plan",
        "compile",
        digits.FOLDER / "cnn.onnx",
        "--for",
        "ulx3s-85f/opu",
        "--calibrate",
        f"{_DATA}:calibration",
        "-o",
        folder / "net",
    )
    write(
        "infer",
        "infer",
        folder / "net",
        "--on",
        "sim:ulx3s-85f/opu",
        "--input",
        f"{_DATA}:images",
        "--labels",
        f"{_DATA}:labels",
        "--limit",
        2,
        "--layers",
    )
    write(
        "compare",
        "compare",
        digits.FOLDER / "cnn.onnx",
        "--board",
        "ulx3s-85f",
        "--calibrate",
        f"{_DATA}:calibration",
        "--limit",
        5,
        "--estimate",
    )
    for kind in ("build", "matrix"):
        stored(folder, sample(kind), f"{kind}.json")
    return folder


@pytest.fixture(scope="module")
def pages(results):
    """Kind -> path of its page."""
    for kind in PAGES:
        assert (
            main(["report", str(results / f"{kind}.json"), "-o", str(results / f"{kind}.html")])
            == 0
        )
    return {kind: results / f"{kind}.html" for kind in PAGES}


@pytest.fixture(scope="module")
def chromium():
    with browser("1200,900") as driver:
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd(
            "Network.emulateNetworkConditions",
            {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
        )
        yield driver


def opened(driver, path, width, scheme="light"):
    """The page, as wide as that, when all its charts are drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    complaints(driver)
    driver.get(path.as_uri())
    WebDriverWait(driver, 60, 0.05).until(
        lambda driver: driver.execute_script(
            "return [...document.querySelectorAll('.chart')].every(place => "
            "place.dataset.drawn || !place.querySelector('script'))"
        )
    )


@pytest.mark.parametrize(
    "width, scheme, ground",
    [(1200, "light", "rgb(246, 246, 243)"), (390, "dark", "rgb(20, 24, 26)")],
)
@pytest.mark.parametrize("kind", PAGES)
def test_a_page_opens_without_a_network(chromium, pages, kind, width, scheme, ground):
    opened(chromium, pages[kind], width, scheme)
    found = chromium.execute_script("""
        const charts = [...document.querySelectorAll('.chart')];
        const fits = place => {
            const drawing = place.querySelector('svg').getBoundingClientRect();
            return drawing.width <= place.clientWidth + 1;
        };
        const marks = place => place.querySelectorAll('svg path, svg line').length;
        return {fetched: performance.getEntriesByType('resource').map(entry => entry.name),
                drawn: charts.filter(place => place.dataset.drawn === 'yes').length,
                charts: charts.length,
                wide: document.documentElement.scrollWidth,
                window: window.innerWidth,
                ground: getComputedStyle(document.body).backgroundColor,
                narrow: charts.every(fits),
                marks: charts.every(place => marks(place) > 1)}""")
    assert complaints(chromium) == [] and found["fetched"] == []
    assert found["drawn"] == found["charts"] >= PAGES[kind] and found["marks"]
    assert found["wide"] <= found["window"] and found["narrow"], found
    assert found["ground"] == ground
    assert pages[kind].stat().st_size <= 5_000_000


def test_a_point_tells_what_it_is(chromium, pages, results):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    opened(chromium, pages["run"], 1200)
    ActionChains(chromium).move_to_element(
        chromium.find_element(By.CSS_SELECTOR, ".chart .mark-symbol.role-mark path")
    ).perform()
    said = chromium.find_element(By.ID, "vg-tooltip-element").text
    assert (
        "the job" in said
        and "MACs a cycle" in said
        and f"{json.loads((results / 'run.json').read_text())['cycles']:,}" in said
    )


def test_colours_follow_the_scheme_without_drawing_again(chromium, pages):
    opened(chromium, pages["run"], 1200, "light")
    script = "return getComputedStyle(document.querySelector('.chart .mark-rect path')).fill"
    light = chromium.execute_script(script)
    chromium.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    dark = chromium.execute_script(script)
    assert light == "rgb(0, 121, 107)" and dark == "rgb(77, 182, 166)"


def test_paper_is_white_even_in_the_dark(chromium, pages):
    opened(chromium, pages["infer"], 1200, "dark")
    chromium.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    assert (
        chromium.execute_script("return getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    chromium.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 680, "height": 960, "deviceScaleFactor": 1, "mobile": False},
    )  # A4 less its margins
    assert chromium.execute_script(
        "return document.documentElement.scrollWidth <= window.innerWidth"
    )
    printed = base64.b64decode(
        chromium.execute_cdp_cmd(
            "Page.printToPDF", {"printBackground": False, "preferCSSPageSize": True}
        )["data"]
    )
    assert printed.startswith(b"%PDF-") and 2 <= printed.count(b"/Type /Page\n") <= 8


def test_names_are_text_and_no_markup(chromium, results, tmp_path):
    data = json.loads((results / "infer.json").read_text())
    data["network"] = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
    data["layers"][1]["layer"] = "</script><b>bold</b>"
    assert main(["report", str(stored(tmp_path, data)), "-o", str(tmp_path / "x.html")]) == 0
    opened(chromium, tmp_path / "x.html", 1200)
    assert (
        chromium.execute_script("return document.querySelectorAll('img, b').length") == 0
        and complaints(chromium) == []
    )
