"""Renew the pinned versions: the newest ones that work together, for every supported Python.

Run by `make lock`. `requirements/constraints.txt` is the one of the default distribution of ROS 2; a folder such as
`requirements/jazzy/` has that of another one, with the same versions of everything else. Packages that are not to be
renewed are bounded in the lists of these folders.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements"
CONSTRAINTS = "constraints.txt"
HEADER = """\
# The one place of all versions, of what is named in the other files of this folder and of what those need.
# Made by `make lock`; not to be edited.
"""
OF_ROS = "ros-"  # how the names of the wheels of ROS 2 begin


def compiled(lists: list[Path], *options: str) -> list[str]:
    """The pins of the packages that some lists name.

    Raises:
        CalledProcessError: uv finds no versions that work together; its output gives the reason.
    """
    command = ["uv", "pip", "compile", "--universal", "--python-version", "3.10", "--upgrade", "--quiet"]
    command += ["--no-header", "--no-annotate", *options, *map(str, lists)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in result.stdout.splitlines(keepends=True) if "sys_platform == 'win32'" not in line]


def versions(text: str) -> dict[str, str]:
    """Return the pinned versions of constraints by package, with the condition of each pin."""
    pins = (line for line in text.splitlines() if "==" in line and not line.startswith("#"))
    return {" ;".join((name, *condition)): version for name, version, *condition in map(_parts, pins)}


def _parts(pin: str) -> list[str]:
    name, _, rest = pin.partition("==")
    version, *condition = rest.split(" ;")
    return [name, version, *condition]


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return a line for each pin that was added, changed or removed."""
    names = sorted(before.keys() | after.keys())
    old_and_new = ((name, before.get(name), after.get(name)) for name in names)
    return [f"  {name}: {old or 'not there'} -> {new or 'removed'}" for name, old, new in old_and_new if old != new]


def write(folder: Path, pins: list[str]) -> None:
    """Write the pins of a folder of lists, and print the differences."""
    path = folder / CONSTRAINTS
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    text = HEADER + "".join(pins)
    path.write_text(text, encoding="utf-8")
    changed = differences(versions(before), versions(text))
    summary = f"{len(changed)} changed" if changed else "nothing changed"
    print(f"{path.relative_to(ROOT)}: {len(versions(text))} pinned versions, {summary}", *changed, sep="\n")


def main() -> int:
    """Renew the versions; the exit status is uv's."""
    lists = {path.name: path for path in sorted(REQUIREMENTS.glob("*.txt")) if path.name != CONSTRAINTS}
    try:
        pins = compiled(list(lists.values()))
        write(REQUIREMENTS, pins)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as common:
            common.writelines(pin for pin in pins if not pin.startswith(OF_ROS))
            common.flush()
            for folder in sorted(path for path in REQUIREMENTS.iterdir() if path.is_dir()):
                own = {path.name: path for path in folder.glob("*.txt") if path.name != CONSTRAINTS}
                write(folder, compiled(list((lists | own).values()), "--constraints", common.name))
    except subprocess.CalledProcessError as error:
        print("no versions work together; nothing more was written", file=sys.stderr)
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
