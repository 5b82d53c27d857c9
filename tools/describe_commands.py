"""Writes docs/command_line.md: the commands of `robot_cell` and the launch files, from their declarations. `--print`
prints it instead."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from robot_cell_planner.commands.group import commands
from robot_cell_planner.nodes.bringup.command_line import argument_parser

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "command_line.md"
SHARE = "share"  # folder of the installed package, which paths in it are relative to
LAUNCH_FILES = ("cell.launch.py", "ros2_control.launch.py")
HEAD = """# Command line

Made by `tools/describe_commands.py` from the declarations of the commands and [launch files](#launch-files).

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
    return text + _launch_files()


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


def _launch_files() -> str:
    text = "\n## Launch files\n\nThey need the packages `launch` and `launch_ros`. "
    text += "The nodes of this package end with `launch`,\nwhatever ends it, on Linux 5.3 or later.\n"
    for name in LAUNCH_FILES:
        tree = ast.parse((ROOT / "launch" / name).read_text(encoding="utf-8"))
        _, _, meaning = inspect.cleandoc(ast.get_docstring(tree) or "").partition("\n\n")
        text += f"\n### {name}\n\n`ros2 launch robot_cell_planner {name} [NAME:=VALUE]...`\n\n{meaning}\n"
        text += "\n| Argument | Default | Meaning |\n|---|---|---|\n"
        text += "".join(
            f"| `{argument}` | {_cell(default)} | {_cell(description)} |\n"
            for argument, default, description in launch_arguments(tree)
        )
    return text


def launch_arguments(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Name, default and description of each argument that a launch file declares; its packages need not be there.

    A default that is computed is empty: its description says it.
    """
    paths = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "DeclareLaunchArgument":
            given = {word.arg: word.value for word in call.keywords}
            default = _path(given["default_value"], paths)
            yield _constant(call.args[0]), f"`{default}`" if default else "", _constant(given["description"])


def _constant(node: ast.expr) -> str:
    return str(ast.literal_eval(node))


def _path(node: ast.expr, paths: dict[str, ast.expr]) -> str:
    """The text of a default: a constant, or a path in the share folder of the package."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return _path(paths[node.id], paths) if node.id in paths else ""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "PathJoinSubstitution":
        [parts] = node.args
        found = [_path(part, paths) for part in parts.elts] if isinstance(parts, ast.List) else [""]
        return "/".join(part for part in found if part != SHARE) if all(found) else ""
    return SHARE if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "FindPackageShare" else ""


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
