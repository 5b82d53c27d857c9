"""Commands print their help, complete and refuse options without the library, which takes a second to import."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from robot_cell_planner.commands.deferred import action_of
from robot_cell_planner.commands.group import COMMANDS, commands
from robot_cell_planner.errors.remedies import MISSING_FILE

HEAVY = ("numpy", "numba", "ompl", "pinocchio", "pybullet", "rclpy", "scipy", "yaml", "msgspec")
# Runs the command line, and prints what it imported of some modules after its output.
PROGRAM = f"""
import sys
from robot_cell_planner.commands.main import main
try:
    status = main()
finally:
    print(status := vars().get("status", 0), *(name for name in {HEAVY!r} if name in sys.modules))
"""
CELL_OPTIONS = {"cell_file", "folders", "start", "start_values"}
POSE = "--pose=0,0,1"
CELL = str(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")


def run(*words, **environment):
    """The exit status, the libraries that were imported, and what was printed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], env={**os.environ, **environment}, capture_output=True, text=True
    )
    *_, last = done.stdout.splitlines() or [done.stderr]
    status, *imported = last.split()
    return int(status), imported, done.stdout + done.stderr


def declared():
    """Each command but `up`, by name."""
    with click.Context(commands) as context:
        return {name: commands.get_command(context, name) for name in commands.list_commands(context) if name != "up"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_needs_no_library(command):
    status, imported, text = run(command, "--help")
    assert (status, imported) == (0, [])
    assert f"Usage: robot_cell {command} " in text


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_refused_without_the_library(command):
    status, imported, text = run(command, "--no-such-option")
    assert (status, imported) == (2, [])
    assert "No such option" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_completed_without_the_library(command):
    words = {"COMP_WORDS": f"robot_cell {command} --", "COMP_CWORD": "2", "_ROBOT_CELL_COMPLETE": "bash_complete"}
    _, imported, text = run(**words)
    assert imported == []
    assert "plain,--help" in text


@pytest.mark.parametrize(
    "words",
    [
        ["fk"],
        ["fk", "cell", "--from-joint", "elbow"],
        ["fk", "cell", "--from-joint", "elbow=nan"],
        ["fk", "cell", "--from-joint", "elbow=1", "--from-joint", "elbow=2"],
        ["ik", "cell"],
        ["ik", "cell", "--pose", "1,2"],
        ["ik", "cell", "--pose", "0,0,inf"],
        ["ik", "cell", POSE, "--free", "w"],
        ["ik", "cell", POSE, "--solutions", "-1"],
        ["ik", "cell", "--free", "z"],
        ["ik", "cell", "--frame", "flange"],
        ["reach", "cell", POSE, "--size", "1", "2"],
        ["reach", "cell", POSE, "--size", "1", "-2", "0"],
        ["reach", "cell", POSE, "--step", "0"],
        ["plan", "cell"],
        ["plan", "cell", "--to", "home", "--line"],
        ["plan", "cell", "--to", "home", "--frame", "flange"],
        ["plan", "cell", POSE, "--line", "--planner", "RRTConnect"],
        ["plan", "cell", "--to", "home", "--seed", "-1"],
        ["plan", "cell", "--to", "home", "--seed", "9223372036854775808"],
        ["plan", "cell", "--to", "home", "--output", "same", "--view", "same"],
        ["check", "cell", "--root", "no_folder"],
        ["new", "arm.urdf", "reach=1"],
        ["new", "arm.urdf", "--at", "flange"],
        ["new", "arm.urdf", "--add-argument", "reach:=1"],
        ["new", "arm.urdf", "--add", "hand.urdf", "--add-argument", "reach=1"],
        ["new", "arm.urdf", "--samples", "0"],
        ["new", "arm.urdf", "--meshes", "box"],
        ["import", "file", "--urdf", "arm.urdf"],
        ["import", ".", "--state", "state.json"],
        ["view", "cell", "--output", "cell"],
        ["execute", "cell"],
        ["execute", "cell", "plan", "--speed", "0.5"],
        ["execute", "@running", "plan", "--from", "home"],
        ["reproduce", "case", "--view", "case"],
        ["doctor", "--wait", "601"],
        ["record", "bag", "--topic", "["],
        ["record", "bag", "--duration", "0"],
        ["rpc", "--http", "0", "--replay", "log"],
    ],
    ids=" ".join,
)
def test_wrong_options_are_refused_without_the_library(words):
    status, imported, text = run(*words)
    assert (status, imported) == (2, []), text


@pytest.mark.parametrize(
    ("words", "stage", "missing"),
    [
        (["bench", "no.yaml"], "read cell", "no.yaml"),
        (["check", "no.yaml"], "read cell", "no.yaml"),
        (["check", f"{CELL}/no.yaml"], "read cell", f"{CELL}/no.yaml"),
        (["execute", "no.yaml", CELL], "read cell", "no.yaml"),
        (["execute", CELL, CELL, "no.json"], "read plan", "no.json"),
        (["execute", "@running", "no.json"], "read plan", "no.json"),
        (["export", "no.yaml"], "read cell", "no.yaml"),
        (["fk", "no.yaml"], "read cell", "no.yaml"),
        (["ik", "no.yaml", POSE], "read cell", "no.yaml"),
        (["import", "no.json"], "import", "no.json"),
        (["import", CELL, "--state", "no.json"], "read compas_fab", "no.json"),
        (["plan", "no.yaml", "--to", "home"], "read cell", "no.yaml"),
        (["plan", CELL, "--poses", "no.csv"], "read poses", "no.csv"),
        (["reach", "no.yaml", POSE, "--size", "1", "1", "1"], "read cell", "no.yaml"),
        (["reproduce", "no.case"], "case", "no.case"),
        (["rpc", "no.yaml"], "read cell", "no.yaml"),
        (["rpc", "--cell", "no.yaml"], "read cell", "no.yaml"),
        (["rpc", "--replay", "no.log"], "rpc", "no.log"),
        (["verify", CELL, "no.json"], "read plan", "no.json"),
        (["view", "no.yaml"], "read cell", "no.yaml"),
        (["view", CELL, "no.json"], "read plan", "no.json"),
        (["warm", "no.yaml"], "read cell", "no.yaml"),
    ],
    ids=str,
)
def test_files_that_do_not_exist_are_reported_without_the_library(words, stage, missing):
    status, imported, text = run(*words)
    assert (status, imported) == (1, []), text
    reason = "Not a directory" if missing.startswith(CELL) else "No such file or directory"
    assert f"robot_cell: {stage}: {missing}: {reason}\n  -> {MISSING_FILE}\n" in text


def test_a_missing_file_is_reported_as_json():
    status, imported, text = run("check", "no.yaml", "--json")
    assert (status, imported) == (1, [])
    error = json.loads(text.rpartition("}")[0] + "}")["error"]
    assert (error["stage"], error["message"]) == ("read cell", "no.yaml: No such file or directory")


@pytest.mark.parametrize("command", declared().values(), ids=declared())
def test_the_action_of_a_command_takes_what_its_declaration_gives(command):
    declaration = inspect.unwrap(command.callback)
    action = action_of(declaration)
    taken = set(inspect.signature(action).parameters)
    names = {parameter.name for parameter in command.params}
    if "cell" in taken and "cell" not in names:  # loaded from the options for it
        taken = taken - {"cell", "state"} | CELL_OPTIONS
    assert taken == names
