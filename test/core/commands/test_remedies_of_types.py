"""Remedies of the command line name what a terminal user can give: options, files, parameters of nodes."""

import json
import re
from pathlib import Path

import click
import pytest

from robot_cell_planner.commands.group import COMMANDS, commands
from robot_cell_planner.commands.main import UP, main
from robot_cell_planner.commands.remedies import REMEDIES, remedy_of
from robot_cell_planner.errors import ERRORS_BY_CODE, MPNoIKSolutionError, OutOfReachError, RobotCellError
from robot_cell_planner.io.cell_file.reader import CELL_KEYS, ROBOT_KEYS, STATE_KEYS

ROOT = Path(__file__).parents[3]
DEMO = str(ROOT / "config" / "demo" / "cell.yaml")
FAR = "5,5,5"
# Arguments, fields and functions of the library and of requests, which have no option on the command line.
OF_PROGRAMS = re.compile(
    r"\b(partial|subjects|values|state_limit|time_limit|max_\w+|skip_\w+|plan_motion|time_parameterize|replan)\b|`option"
)


@pytest.fixture(scope="module")
def known():
    """Options of each command, keys of cell files and parameters of nodes."""
    context = click.Context(commands)
    options = {
        name: {text for option in commands.get_command(context, name).params for text in option.opts}
        for name in COMMANDS
    }
    parameters = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "parameters.md").read_text(), re.MULTILINE)
    return options, {*CELL_KEYS, *ROBOT_KEYS, *STATE_KEYS, *parameters, "ignore_groups", "journal_repair"}


@pytest.mark.parametrize("kind", ERRORS_BY_CODE.values(), ids=lambda kind: kind.__name__)
def test_names_are_those_that_a_terminal_user_can_give(known, kind):
    options, names = known
    remedy = remedy_of(kind("message"))
    assert remedy.endswith(".")
    assert not OF_PROGRAMS.search(remedy)
    for name in re.findall(r"`([^`]+)`", remedy):
        words = name.split()
        if words[0] == "robot_cell":
            assert words[1] == UP or {word for word in words[2:] if word.startswith("--")} <= options[words[1]]
        elif name.startswith("--"):
            assert name == "--help" or any(name in found for found in options.values())
        else:
            assert name in names or "/" in name  # a topic or service of the nodes


@pytest.mark.parametrize("command", ["ik", "plan"])
def test_a_pose_out_of_reach(command, capsys):
    words = [command, DEMO, f"--pose={FAR}"]
    assert main(words) == 1
    text = capsys.readouterr().err
    assert "\n  -> " in text
    assert "`partial`" not in text
    assert main([*words, "--json"]) == 1
    remedy = json.loads(capsys.readouterr().out)["error"]["remedy"]
    assert f"  -> {remedy}" in text
    assert remedy in (REMEDIES[OutOfReachError], REMEDIES[MPNoIKSolutionError])


def test_a_line_out_of_reach_names_no_partial_result(capsys):
    assert main(["plan", DEMO, f"--pose={FAR}", "--line"]) == 1
    assert "partial" not in capsys.readouterr().err


def test_the_remedy_of_an_error_precedes_that_of_its_type():
    error = OutOfReachError("far", remedy="Move it.")
    assert remedy_of(error) == "Move it."
    assert error.with_message("further").remedy == remedy_of(error.with_message("further")) == "Move it."


def test_the_remedy_of_the_nearest_type_counts():
    class Near(OutOfReachError):
        pass

    class Own(OutOfReachError):
        remedy = "Move this."

    assert remedy_of(Near("x")) == REMEDIES[OutOfReachError]
    assert remedy_of(Own("x")) == "Move this."
    assert remedy_of(RobotCellError("x")) == ""
