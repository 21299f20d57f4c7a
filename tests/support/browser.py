# SPDX-License-Identifier: BSD-2-Clause
"""Headless Chromium for tests, controlled by its chromedriver."""

import shutil
import tempfile
from contextlib import contextmanager

__all__ = ["CHROMIUM", "DRIVER", "browser", "complaints"]

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")


@contextmanager
def browser(size="1280,1000"):
    """Starts a headless Chromium without network access."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    with tempfile.TemporaryDirectory() as profile:
        for option in (
            "headless=new",
            "no-sandbox",
            "disable-gpu",
            "disable-quic",
            "no-first-run",
            "disable-background-networking",
            "disable-component-update",
            "disable-sync",
            "disable-dev-shm-usage",
            f"window-size={size}",
            f"user-data-dir={profile}",
        ):
            options.add_argument(f"--{option}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        try:
            yield driver
        finally:
            driver.quit()


def complaints(driver):
    """Errors in the browser's console since the last call."""
    return [
        entry["message"]
        for entry in driver.get_log("browser")
        if entry["level"] in ("SEVERE", "WARNING")
    ]
