"""Files that commands write: each has its own, and names of any bytes are possible."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot_cell_planner.commands.main import main
from robot_cell_planner.commands.reporting import echo_json, error_entry
from robot_cell_planner.errors import InvalidRequestError, Value

DEMO = str(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a plan and a case file."""
    folder = tmp_path_factory.mktemp("outputs")
    words = ["--to", "up", "--output", str(folder / "plan.json"), "--case", str(folder / "up.case")]
    assert main(["plan", DEMO, *words]) == 0
    return folder


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["export", DEMO, "--output", "{}", "--state", "{}", "--overwrite"], "--state and --output"),
        (["plan", DEMO, "--to", "up", "--output", "{}", "--view", "{}"], "--view and --output"),
        (["plan", DEMO, "--to", "up", "--view", "{}", "--case", "{}"], "--case and --view"),
    ],
)
def test_two_outputs_are_not_one_file(words, options, tmp_path, capsys):
    path = tmp_path / "one.json"
    assert main([word.format(path) for word in words]) == 2
    assert f"{options} are the same file {path}; give each a file of its own" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


LIMIT = '<limit lower="-2" upper="2" effort="9" velocity="1"/>'
JOINT = f'<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>{LIMIT}</joint>'


@pytest.mark.parametrize("words", [["fk"], ["export", "--output", "cell.json"]])
def test_warnings_of_all_commands_have_the_same_form(words, tmp_path):
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm"><link name="base"/><link name="arm"/>{JOINT}</robot>')
    (tmp_path / "cell.yaml").write_text("format: robot_cell/1\nrobots:\n  arm: {urdf: arm.urdf}\n")
    program = [sys.executable, "-m", "robot_cell_planner.commands.main", words[0], "cell.yaml", *words[1:]]
    found = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True).stderr.splitlines()
    assert any("assumed" in line for line in found)
    assert all(line.startswith("WARNING: ") for line in found if "arm" in line)


@pytest.mark.parametrize("words", [["view", DEMO, "{}", "--output", "{}"], ["execute", DEMO, "{}", "--view", "{}"]])
def test_an_output_does_not_replace_an_input(words, made, capsys):
    path = made / "plan.json"
    before = path.read_bytes()
    assert main([word.format(path) for word in words]) == 2
    assert f"{words[3]} and {path} are the same file" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize("words", [["--from", "up"], ["--from-joint", "elbow_joint=1"], ["--root", "."]])
def test_options_of_a_cell_file_are_refused_for_a_case_file(words, made, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["view", str(made / "up.case"), *words, "--output", str(page)]) == 2
    assert "--root, --from and --from-joint are for a cell file" in capsys.readouterr().err
    assert not page.exists()


def test_a_plan_file_whose_name_is_no_text_is_shown(made, tmp_path, capsys):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/pl\xff.json")
    Path(path).write_bytes((made / "plan.json").read_bytes())
    page = tmp_path / "page.html"
    assert main(["view", DEMO, path, "--output", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": str(page)}
    assert f"{tmp_path}/pl\ufffd.json" in page.read_text()


@pytest.mark.parametrize("speed", ["nan", "inf", "0"])
@pytest.mark.parametrize("command", ["plan", "execute"])
def test_a_speed_is_a_number_in_its_range(command, speed, made, capsys):
    words = [DEMO, "--to", "up"] if command == "plan" else [DEMO, str(made / "plan.json")]
    assert main([command, *words, "--speed", speed]) == 2
    assert "Invalid value for '--speed'" in capsys.readouterr().err


@pytest.mark.parametrize("timeout", ["nan", "inf", "-1", "1e300"])
@pytest.mark.parametrize("words", [["call", "get"], ["echo", "topic"], ["describe"], ["replay", "bag"]])
def test_a_timeout_is_a_number_of_seconds(words, timeout, monkeypatch, capsys):
    monkeypatch.setattr("robot_cell_planner.commands.actions.graph.ros", lambda: pytest.fail("the graph was searched"))
    assert main([*words, "--timeout", timeout]) == 2
    assert "Invalid value for '--timeout'" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--output", "--view", "--case"])
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("", "Is a directory"),
        ("file/out", "Not a directory"),
        ("/dev/full", "is not a regular file"),
        ("/new/out", "No"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    option, place, reason, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").write_text("text")
    monkeypatch.setattr("robot_cell_planner.commands.actions.plan.plan", lambda **_: pytest.fail("it was planned"))
    assert main(["plan", DEMO, "--to", "home", option, str(tmp_path / place)]) == 1
    assert f"robot_cell: {option}: {tmp_path / place}: {reason}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_request_that_is_no_yaml_is_refused_before_the_graph_is_searched(monkeypatch, capsys):
    monkeypatch.setattr("robot_cell_planner.commands.actions.graph.ros", lambda: pytest.fail("the graph was searched"))
    assert main(["call", "scene/get_cell", "{a: ["]) == 1
    message, remedy = capsys.readouterr().err.splitlines()
    assert "is not well-formed YAML" in message
    assert "Write REQUEST as a YAML mapping" in remedy


@pytest.mark.parametrize("option", ["--output", "--view", "--case"])
def test_a_folder_that_is_a_file_is_not_a_file_that_exists(option, tmp_path, capsys):
    (tmp_path / "file").write_text("text")
    assert main(["plan", DEMO, "--to", "up", option, str(tmp_path / "file" / "out")]) == 1
    error = capsys.readouterr().err
    assert "file/out: Not a directory" in error
    assert "--overwrite" not in error


@pytest.mark.parametrize("seconds", ["0", "1"])
def test_the_doctor_reports_nodes_only_where_it_has_searched_them(seconds, monkeypatch, capsys):
    module = "robot_cell_planner.commands.actions.doctor"
    monkeypatch.setattr(f"{module}.check_installation", lambda _: ())
    monkeypatch.setattr(f"{module}._graph", lambda _: ((), ()))
    assert main(["doctor", "--wait", seconds]) == 0
    assert ("nodes: not searched" if seconds == "0" else "nodes: none was found") in capsys.readouterr().out


def test_an_export_names_what_has_another_form_in_the_other_program(tmp_path, capsys):
    assert main(["export", DEMO, "--output", str(tmp_path / "demo.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "differs pedestal is round; in compas_fab a polyhedron around it with 64 sections" in lines


def test_numbers_that_are_not_finite_are_null_in_json(capsys):
    error = InvalidRequestError("too fast", values=(Value("speed", math.nan, math.inf, "rad/s"),))
    echo_json({"error": error_entry(error), "path": [(0.5, -math.inf), [1, None, True, "inf"]]})

    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["error"]["values"] == [{"name": "speed", "value": None, "limit": None, "unit": "rad/s"}]
    assert found["path"] == [[0.5, None], [1, None, True, "inf"]]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["--version"], ["check", DEMO], ["check", DEMO, "--json"], ["fk", "none", "--json"]])
def test_a_standard_output_without_space_is_reported_on_the_other_stream(words, unbuffered):
    command = [sys.executable, "-m", "robot_cell_planner.commands.main", *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == 1
    expected = f"robot_cell: {words[0]}: standard output: No space left on device\n  -> Make space on the disk.\n"
    assert done.stderr.endswith(expected)
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr


def test_a_closed_standard_stream_is_not_replaced_by_the_next_file(tmp_path):
    """What libraries print would be written to a file that has the descriptor of the standard output."""
    program = f"""
import os
from robot_cell_planner.commands.main import main
status = main(["--version"])
file = os.open({str(tmp_path / "file")!r}, os.O_WRONLY | os.O_CREAT)
os.write(1, b"printed by a library")
raise SystemExit(status if file > 2 else 9)
"""
    descriptors = ("<&-", ">&-", "2>&-")
    for closed in (*descriptors, " ".join(descriptors)):
        done = subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, program])
        assert (closed, done.returncode) == (closed, 0)
        assert (tmp_path / "file").read_bytes() == b""
