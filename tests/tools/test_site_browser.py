# SPDX-License-Identifier: BSD-2-Clause
"""Every page of the site in a real Chromium, wide and narrow, light and dark. Nothing reaches past
the right edge, and every text stands out from its background. Skipped without a Chromium."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("selenium")
pytest.importorskip("mkdocs")

from tests.support.browser import CHROMIUM, DRIVER, browser

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(None in (CHROMIUM, DRIVER), reason="no Chromium with its driver"),
]

ROOT = Path(__file__).resolve().parents[2]
#: Contrast of text and background: WCAG's AA for large text is 3, for small text 4.5; the theme's
#: faint texts (copyright, permanent links) lie between.
_CONTRAST = 4
#: Code may scroll in its own box on a narrow window; everything else fits.
_LOOK = """
const contrast = arguments[0], found = [], root = document.documentElement;
if (root.scrollWidth > innerWidth + 1) found.push(`page of ${root.scrollWidth} pixels`);
const wide = "article table, article img, article svg, article pre";
for (const part of document.querySelectorAll(wide)) {
  const box = part.getBoundingClientRect(), text = (part.innerText || part.src || "").slice(0, 40);
  if (box.width && box.right > innerWidth + 1) found.push(`${part.tagName} past the edge: ${text}`);
  const around = part.parentElement;
  if (part.tagName === "TABLE" && around.scrollWidth > around.clientWidth + 1)
    found.push(`table that scrolls: ${text}`);
}
const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => numbers(colour).slice(0, 3)
  .map(part => part / 255)
  .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0.05);
const ground = part => {
  for (; part; part = part.parentElement) {
    const colour = getComputedStyle(part).backgroundColor, opaque = numbers(colour)[3] ?? 1;
    if (opaque > 0.5) return colour;
  }
  return "rgb(255, 255, 255)";
};
for (const part of document.querySelectorAll("article *, .md-header *, .md-tabs *")) {
  const words = [...part.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  if (!words || !part.offsetParent || part.closest(".headerlink, svg")) continue;
  const pair = [light(getComputedStyle(part).color), light(ground(part))];
  if (Math.max(...pair) / Math.min(...pair) < contrast)
    found.push(`faint text: ${part.textContent.trim().slice(0, 40)}`);
}
return [getComputedStyle(document.body).backgroundColor, [...new Set(found)]];
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "-d", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def address(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_can_be_read(site, address, scheme, width):
    pages = sorted(str(page.parent.relative_to(site)) for page in site.rglob("index.html"))
    assert len(pages) > 60
    problems, grounds = {}, set()
    with browser() as driver:
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        for page in pages:
            driver.get(f"{address}/{page}/")
            ground, found = driver.execute_script(_LOOK, _CONTRAST)
            grounds.add(ground)
            if found:
                problems[page] = found
    assert problems == {}
    (ground,) = grounds
    brightness = sum(map(int, ground.removeprefix("rgb(").removesuffix(")").split(",")))
    assert (brightness > 600) == (scheme == "light"), ground
