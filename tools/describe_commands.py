"""Writes docs/command_line.md: the commands of `robot_cell`, from their declarations. `--print` prints it instead."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import click

from robot_cell_planner.commands.group import commands
from robot_cell_planner.nodes.bringup.command_line import argument_parser

DOCUMENT = Path(__file__).parents[1] / "docs" / "command_line.md"
HEAD = """# Command line

Made by `tools/describe_commands.py` from the declarations of the commands.

`robot_cell` starts the nodes of a cell, and works on cell files without ROS. Positions are in metres, angles in
radians. The exit status is 0 if a command succeeded, 1 if it failed and 2 for a wrong command line. With
`--json`, the answer on the standard output is JSON, also where a command fails: `{"error": {"name": ..., "message":
..., "remedy": ...}}` with the codes of [errors.md](errors.md).

SIGTERM, and SIGHUP of a terminal that is closed, end a command as Ctrl-C does: its processes end, its temporary files
are removed, and `execute @running` brings the robot to rest.

```bash
robot_cell fk config/demo/cell.yaml gripper/tcp --from-joint elbow_joint=1.0
robot_cell ik config/demo/cell.yaml --in above_pick --pose 0,0,0.05
robot_cell plan config/demo/cell.yaml --in above_pick --pose 0,0,0 --output plan.json --view plan.html
robot_cell verify config/demo/cell.yaml plan.json
```

In place of CELL_FILE, `fk`, `ik`, `reach`, `plan`, `verify`, `view`, `bench` and `execute` take `@running`, or
`@running/NAMESPACE`: the present scene of the nodes in this shell's ROS_DOMAIN_ID, with the joints as they are
measured.

```bash
robot_cell plan @running --to home --output home.json
robot_cell execute @running home.json
```

Completion of commands and options: add `eval "$(_ROBOT_CELL_COMPLETE=bash_source robot_cell)"` to `~/.bashrc`, or
with `zsh_source` to `~/.zshrc`; for fish, `_ROBOT_CELL_COMPLETE=fish_source robot_cell | source`.
"""


def document() -> str:
    """The whole text of docs/command_line.md."""
    text = HEAD + _up()
    with click.Context(commands, info_name="robot_cell") as context:
        for name in commands.list_commands(context):
            command = commands.get_command(context, name)
            if name != "up" and command is not None:
                text += _section(name, command, context)
    return text


def _up() -> str:
    parser = argument_parser()
    parser.prog = "robot_cell up"
    rows = [(", ".join(each.option_strings), each.help or "") for each in parser._actions if each.option_strings]
    usage = "robot_cell up [CELL_FILE] [OPTIONS] [-- CLIENT [ARGUMENT]...]"
    return f"\n## robot_cell up\n\n`{usage}`\n\n{parser.description}\n{_table(rows)}"


def _section(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    options = [p for p in command.params if isinstance(p, click.Option)]
    rows = [record for option in options if (record := option.get_help_record(context))]
    text = inspect.cleandoc(command.help or "")
    return f"\n## robot_cell {name}\n\n`robot_cell {name} {usage}`\n\n{text}\n{_table(rows)}"


def _table(rows: list[tuple[str, str]]) -> str:
    lines = "".join(f"| `{_cell(option)}` | {_cell(text)} |\n" for option, text in rows)
    return f"\n| Option | Meaning |\n|---|---|\n{lines}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(document())
    else:
        DOCUMENT.write_text(document(), encoding="utf-8")
