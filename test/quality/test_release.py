"""The release script finds every occurrence of the version, and closes the change log."""

import importlib.util

import pytest
from sources import ROOT

import robot_cell_planner

SPEC = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)


@pytest.mark.parametrize("name", release.PLACES)
def test_the_version_is_replaced_in_every_file(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    changed = release.with_version(text, release.PLACES[name], "123.4.56")
    assert changed == text.replace(robot_cell_planner.__version__, "123.4.56", 1)
    with pytest.raises(ValueError, match="0 versions"):
        release.with_version("nothing", release.PLACES[name], "1.0.0")


def test_the_change_log_of_this_repository_can_be_closed():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    closed = release.closed_changelog(text, "123.4.56", "2030-01-02")
    assert "## Unreleased\n\n## 123.4.56 - 2030-01-02\n" in closed
    assert len(closed) == len(text) + len("\n## 123.4.56 - 2030-01-02\n")
    with pytest.raises(ValueError, match="no changes"):
        release.closed_changelog(closed, "123.4.57", "2030-01-03")
