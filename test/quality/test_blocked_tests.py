"""A test that a library blocks for good is repeated in another process; all others run as well."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from sources import ROOT

LIMIT = 3.0  # [s]
CONFTEST = f"""
    import sys

    sys.path.insert(0, {str(ROOT / "test" / "support")!r})
    from blocked_tests import BlockedTests


    def pytest_configure(config):
        config.pluginmanager.register(BlockedTests(config.cache.mkdir("blocked"), {LIMIT}, "/library/"))
"""
LIBRARY = """
    import time


    def call():
        time.sleep(600.0)
"""
BLOCKED = """
    import time
    from pathlib import Path

    import library


    def test_before():
        pass


    def test_blocked():
        ran = Path(__file__).with_suffix(".ran")
        if {condition}:
            ran.touch()
            {block}


    def test_after():
        pass
"""


def files_in(folder: Path, condition: str, block: str) -> list[str]:
    """Write files of three tests each, with one that blocks in the second; return their names."""
    (folder / "library").mkdir()
    texts = {"conftest.py": CONFTEST, "library/__init__.py": LIBRARY}
    for number in range(6):
        blocks = number == 1
        texts[f"test_{number}.py"] = BLOCKED.format(condition=condition if blocks else "False", block=block)
    for name, text in texts.items():
        (folder / name).write_text(textwrap.dedent(text))
    return [name for name in texts if name.startswith("test_")]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("condition", "block", "outcome"),
    [
        ("not ran.exists()", "library.call()", "18 passed, 1 skipped"),
        ("True", "library.call()", "1 failed, 17 passed, 1 skipped"),
        ("not ran.exists()", "time.sleep(600.0)", "1 failed, 18 passed"),
    ],
    ids=["once", "twice", "elsewhere"],
)
def test_all_tests_run_whatever_blocks_one(tmp_path, workers, condition, block, outcome):
    names = files_in(tmp_path, condition, block)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rs",
        "-n",
        str(workers),
        "--dist",
        "loadfile",
        "--rootdir",
        ".",
        *names,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert f"= {outcome} in" in done.stdout, done.stdout + done.stderr
    assert "test_1.py::test_blocked was blocked: Timeout" in done.stdout
    assert done.returncode == (0 if "failed" not in outcome else 1)


def test_each_run_of_make_test_has_processes_that_can_be_replaced():
    shown = subprocess.run(["make", "-n", "tests"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    runs = [line for line in shown.replace("\\\n", " ").split(";") if " pytest " in line]
    assert len(runs) == 2, shown
    for run in runs:
        assert re.search(r" -n \d+ --dist loadfile ", run), run
