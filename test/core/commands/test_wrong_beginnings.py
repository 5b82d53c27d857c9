"""Commands that cannot start: a misspelt command, a missing library, parts of different versions."""

import json
from pathlib import Path

import pytest

from robot_cell_planner.commands import main as module
from robot_cell_planner.commands.main import main
from robot_cell_planner.commands.reporting import import_failure
from robot_cell_planner.errors import InternalError, NotSupportedError

DEMO = str(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")
ARM = str(Path(__file__).parents[3] / "urdf" / "arm.urdf.xacro")


@pytest.fixture
def started(monkeypatch):
    """The words with which the nodes were started."""
    found = []
    monkeypatch.setattr(module, "_up", lambda words: found.append(list(words)) or 0)
    return found


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("plam", "command 'plam' does not exist; nearest: plan"),
        ("upp", "command 'upp' does not exist; nearest: up\n"),
        (str(Path(DEMO).parent), f"; `robot_cell up {DEMO}` starts the nodes of a cell file"),
        ("help", "command 'help' does not exist; "),
        ("help", "\nTry 'robot_cell --help' for help.\n"),
        (DEMO, f"'{DEMO}' is no command; `robot_cell up {DEMO}` starts the nodes of a cell file"),
        (ARM, f"'{ARM}' is no command; `robot_cell new {ARM}` drafts a cell of a description"),
    ],
)
def test_an_unknown_command_does_not_start_the_nodes(word, text, started, capsys):
    assert main([word, "my_cell/cell.yaml"]) == 2
    assert text in capsys.readouterr().err
    assert not started


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["up"], []),
        (["up", DEMO, "--view"], [DEMO, "--view"]),
        ([], []),
        (["--cell", DEMO], ["--cell", DEMO]),
        (["--", "client"], ["--", "client"]),
    ],
)
def test_up_and_options_start_the_nodes(words, given, started):
    assert main(words) == 0
    assert started == [given]


@pytest.mark.parametrize("words", [["plan", DEMO, "--to", "home"], ["record", "bag"]])
@pytest.mark.parametrize(
    ("error", "name", "text"),
    [
        (
            ImportError("cannot import name 'a' from 'robot_cell_planner.io'", name="robot_cell_planner.io"),
            "InternalError",
            "the installation of robot_cell_planner is inconsistent, its parts are of several versions: cannot import",
        ),
        (
            ModuleNotFoundError("No module named 'pinocchio'", name="pinocchio"),
            "NotSupportedError",
            "which cannot be imported: No module named 'pinocchio'",
        ),
    ],
)
def test_a_failed_import_is_reported_as_text_and_as_json(words, error, name, text, monkeypatch, capsys):
    def fail(_):
        raise error

    monkeypatch.setattr("robot_cell_planner.commands.deferred.import_module", fail)
    assert main(words) == 1
    lines = capsys.readouterr().err.splitlines()
    assert text in lines[0]
    assert lines[1].startswith("  -> ")
    assert main([*words, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["error"]
    assert (found["name"], found["stage"]) == (name, "import")
    assert text in found["message"]


@pytest.mark.parametrize(
    ("error", "kind", "remedy"),
    [
        (ModuleNotFoundError("no", name="rclpy"), NotSupportedError, "the ROS 2 package rclpy is missing"),
        (ModuleNotFoundError("no", name="robot_cell_planner.srv"), NotSupportedError, "the interfaces of"),
        (
            ImportError("cannot import name 'srv' from 'robot_cell_planner'", name="robot_cell_planner"),
            NotSupportedError,
            "the interfaces of robot_cell_planner are missing",
        ),
        (ModuleNotFoundError("no", name="robot_cell_planner.nodes.old"), InternalError, "Install it again"),
        (ImportError("a library is damaged"), NotSupportedError, "a library is damaged"),
    ],
)
def test_the_remedy_is_that_of_the_module(error, kind, remedy):
    found = import_failure("the nodes need ROS 2", error)
    assert type(found) is kind
    assert remedy in found.remedy


@pytest.mark.parametrize("text", ["<robot/>", "<?xml version='1.0'?><sdf/>", "\ufeff\n <!-- an arm --><robot/>"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["fk"], "a cell file in YAML"),
        (["plan", "--joint", "j=1"], "a cell file in YAML"),
        (["import"], "a JSON file with a RobotCell of compas_fab"),
    ],
)
def test_a_description_in_place_of_another_file_is_named_as_such(words, expected, text, tmp_path, capsys):
    file = tmp_path / "arm.urdf"
    file.write_text(text)
    assert main([words[0], str(file), *words[1:]]) == 1
    message, remedy = capsys.readouterr().err.splitlines()
    assert message.endswith(f"{file} is XML, expected {expected}")
    assert remedy.startswith("  -> `robot_cell new FILE` drafts a cell of a URDF, xacro or SDF file.")
