# SPDX-License-Identifier: BSD-2-Clause
"""Takes the studio's picture for the documents: ``python -m tests.firmware.studio.picture
docs/pictures/studio.png``."""

import sys

from tests.firmware.studio.browser import Page
from tests.firmware.studio.served import Served
from tests.firmware.studio.strokes import STROKES
from tests.support.browser import browser


def main(path):
    """A nine is drawn, and recognised by virtual boards."""
    with Served() as studio, browser("1280,1180") as driver:
        page = Page(driver, studio.address)
        page.answers(page.draw(STROKES[-1][1]))
        driver.save_screenshot(path)


if __name__ == "__main__":
    main(sys.argv[1])
