"""The replay page in a real browser, where one is installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from recordings import demo_cell, small_recording

from robot_cell_planner.viewer import write_html

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--use-angle=swiftshader",
    "--window-size=320,240", "--virtual-time-budget=2000", "--proxy-server=127.0.0.1:9", "--dump-dom",
)  # fmt: skip


@pytest.mark.timeout(300)
def test_the_page_draws_the_cell_without_a_network(tmp_path):
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser is installed ({', '.join(BROWSERS)})")
    cell, state = demo_cell()
    page = write_html(tmp_path / "replay.html", cell, small_recording(state), rate=10.0)
    command = [browser, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", f"{page.as_uri()}#t=0.5&theme=light"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 'data-ready="true"' in shown
    assert 'class="failure"' not in shown
    assert "0.50 / 1.18 s" in shown
    assert '<b id="caption-name">carry' in shown
