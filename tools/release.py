"""Make a release: tools/with_environment python tools/release.py 0.2.0 [--build]

Sets the version in the three files that have it, closes the section *Unreleased* of CHANGELOG.md with version and date,
and opens a new one. With --build, a wheel and a source archive are written to .venv/dist. The commit and the tag are
made by hand, after a review of the difference; the commands are printed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+")
# The place of the version in each file: the text before and after it.
PLACES: Mapping[str, tuple[str, str]] = {
    "setup.cfg": ("\nversion = ", "\n"),
    "package.xml": ("<version>", "</version>"),
    "robot_cell_planner/__init__.py": ('\n__version__ = "', '"\n'),
}
UNRELEASED = "## Unreleased\n"


def with_version(text: str, place: tuple[str, str], version: str) -> str:
    """Return a text with another version.

    Raises:
        ValueError: The text does not have the place exactly once.
    """
    before, after = place
    pattern = re.compile(f"(?<={re.escape(before)}){VERSION.pattern}(?={re.escape(after)})")
    text, count = pattern.subn(version, text)
    if count != 1:
        raise ValueError(f"{count} versions between {before.strip()!r} and {after.strip()!r}, expected one")
    return text


def closed_changelog(text: str, version: str, date: str) -> str:
    """Return a change log whose section *Unreleased* has become that of a version.

    Raises:
        ValueError: There is no such section, it is empty, or the version has one already.
    """
    before, mark, after = text.partition(UNRELEASED)
    if not mark or not after.partition("\n## ")[0].strip():
        raise ValueError("CHANGELOG.md has no changes under Unreleased")
    if re.search(rf"^## {re.escape(version)}\b", text, re.MULTILINE):
        raise ValueError(f"CHANGELOG.md has version {version} already")
    return f"{before}{UNRELEASED}\n## {version} - {date}\n{after}"


def main() -> int:
    """Make the release; the exit status is 2 if the arguments or the tree are not fit for a release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="three numbers, such as 0.2.0")
    parser.add_argument("--build", action="store_true", help="also build wheel and source archive")
    arguments = parser.parse_args()
    version = arguments.version
    if not VERSION.fullmatch(version):
        parser.error(f"{version!r} is no version, expected three numbers")
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    if changed.stdout:
        parser.error("there are uncommitted changes")
    date = datetime.now(timezone.utc).date().isoformat()
    try:
        texts = {
            ROOT / name: with_version((ROOT / name).read_text(encoding="utf-8"), place, version)
            for name, place in PLACES.items()
        }
        log = ROOT / "CHANGELOG.md"
        texts[log] = closed_changelog(log.read_text(encoding="utf-8"), version, date)
    except ValueError as error:
        parser.error(str(error))
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    if arguments.build:
        target = ROOT / ".venv" / "dist"
        subprocess.run(["uv", "build", "--out-dir", str(target), str(ROOT)], check=True)
        print(f"wheel and source archive: {target}")
    print(f"after make test: git commit -am 'Release {version}' && git tag {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
