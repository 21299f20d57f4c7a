# SPDX-License-Identifier: BSD-2-Clause
"""Takes the picture of a page for the documents: ``python -m tests.tools.report.picture
docs/pictures/report.png``."""

import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from quintet.firmware import digits
from quintet.tools.cli import main as quintet
from tests.support.browser import browser

_SIZE = "1200,1450"


def main(path):
    """The digits' CNN runs on a virtual board with the OPU, layer by layer."""
    data = digits.FOLDER / "digits.npz"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(*args):
            assert quintet([*map(str, args)]) == 0, args

        with open(folder / "infer.json", "w") as file, redirect_stdout(file):
            run(
                "compile",
                digits.FOLDER / "cnn.onnx",
                "--for",
                "ulx3s-85f/opu",
                "--calibrate",
                f"{data}:calibration",
                "-o",
                folder / "net",
            )
            file.seek(0)
            file.truncate()
            run(
                "infer",
                folder / "net",
                "--on",
                "sim:ulx3s-85f/opu",
                "--input",
                f"{data}:images",
                "--labels",
                f"{data}:labels",
                "--limit",
                20,
                "--layers",
                "--no-overlap",
                "--json",
            )
        run("report", folder / "infer.json", "-o", folder / "page.html")
        with browser(_SIZE) as driver:
            from selenium.webdriver.support.ui import WebDriverWait

            driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": "light"}]},
            )
            driver.get((folder / "page.html").as_uri())
            WebDriverWait(driver, 60, 0.05).until(
                lambda driver: driver.execute_script(
                    "return [...document.querySelectorAll('.chart')].every(place => "
                    "place.dataset.drawn)"
                )
            )
            driver.save_screenshot(path)


if __name__ == "__main__":
    main(sys.argv[1])
