"""Command `draft_robot`: write an initial SRDF and joint limits file for a robot description."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from ..errors import RobotCellError
from ..io.common.resources import ResourceRoots, write_text
from ..io.robot_description.loading import load_robot
from .srdf_generator import DraftOptions, draft_robot


def main(arguments: list[str] | None = None) -> int:
    """Entry point; the exit status is 0 if both files were written."""
    given = _parser().parse_args(arguments)
    try:
        roots = ResourceRoots(folders=tuple(str(Path(folder).resolve()) for folder in given.root))
        xacro = dict(argument.split(":=", 1) for argument in given.xacro)
        robot = load_robot("robot", given.description, xacro_arguments=xacro, roots=roots)
        draft = draft_robot(robot, DraftOptions(given.samples, given.seed))
        folder = Path(given.folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((f"{robot.mechanism.name}.srdf", draft.srdf), ("joint_limits.yaml", draft.limits)):
            write_text(folder / name, text, "draft", given.overwrite, mode=0o644)
            print(f"wrote {folder / name}")
    except (RobotCellError, ValueError, OSError) as error:
        print(f"draft_robot: {error}", file=sys.stderr)
        return 1
    for group in draft.groups:
        ends = f", {group.base_link} to {group.tip_link}" if group.tip_link else ""
        print(f"group {group.name}: {', '.join(group.variables)}{ends}")
    counts = Counter(pair.reason for pair in draft.disabled_pairs)
    print(
        f"{len(draft.disabled_pairs)} pairs need no check: {', '.join(f'{n} {r}' for r, n in sorted(counts.items()))}"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="draft_robot", description=__doc__)
    parser.add_argument("description", help="URDF or xacro file, or a package:// URI")
    parser.add_argument("--folder", default=".", help="where the files are written (default: here)")
    parser.add_argument("--samples", type=int, default=DraftOptions.samples, help="random configurations to look at")
    parser.add_argument("--seed", type=int, default=DraftOptions.seed, help="of the random configurations")
    parser.add_argument("--xacro", action="append", default=[], metavar="name:=value", help="argument for xacro")
    parser.add_argument("--root", action="append", default=[], help="folder that meshes may be read from, too")
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
