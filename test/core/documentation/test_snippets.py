"""Every code block of README.md and docs/ runs, here or in a listed test; the names in tables exist."""

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
import xacro
from click import ClickException
from snippets import FENCED, PAGES, Snippet, snippet, snippets
from sources import ROOT

import robot_cell_planner
from robot_cell_planner.commands.group import COMMANDS, commands
from robot_cell_planner.commands.main import main
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.cell_file.simulation_section import load_simulated_robot
from robot_cell_planner.nodes.bringup.command_line import argument_parser
from robot_cell_planner.nodes.common.start import MODULES, NODES

COMPARISONS = ("from_moveit", "from_compas_fab", "from_gestalt", "from_curobo")
NAME = re.compile(r"`([A-Za-z_][\w.]*)`")
COMMAND = re.compile(r"`robot_cell ([a-z]+)")
LINE = re.compile(r"`robot_cell ([^`]*)`")
OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")
GENERAL = {"--help", "--version"}
ARGUMENT = re.compile(r"DeclareLaunchArgument\(\s*\"(\w+)\"")
IN_A_CELL_FILE = {"native_scale"}
# Blocks that this file does not run: the test that reads and runs them, or the reason why none can.
OF_NODES = "test/nodes/client/test_snippets_on_nodes.py"
ELSEWHERE = {
    ("execution", "python", 0): OF_NODES,
    ("servo", "python", 0): OF_NODES,
    ("records", "python", 0): OF_NODES,
    ("records", "yaml", 0): OF_NODES,
    ("tutorial", "python", 0): "test/core/documentation/test_tutorial.py",
    ("tutorial", "yaml", 0): "test/core/documentation/test_tutorial.py",
    ("planning", "toml", 0): "test/core/planning/test_installed_planners.py",
    ("cell_file", "yaml", 0): "test/core/io/test_cell_file.py",
    ("cell_file", "yaml", 1): "test/core/scene/test_attached_robot_changes.py",
    ("cell_file", "yaml", 2): "test/core/io/test_cell_file.py",
    ("exchange", "python", 0): None,  # needs compas_fab
}
# Command lines whose words are checked, but which are not run: nodes (test/nodes), and files of others.
OF_RUNNING_NODES = {"record", "replay", "call", "echo", "describe", "doctor", "rpc"}
FILES_OF_OTHERS = ("panda_moveit_config", "@running", "my_bag")
LIMIT = '<limit lower="{}" upper="{}" velocity="1" effort="9"/></joint>'
# An arm of three joints, whose frame tcp they move to any position nearby.
THREE_JOINTS = f"""<robot name="arm"><link name="base"/><link name="a"/><link name="b"/><link name="tcp"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>{LIMIT.format(-3, 3)}
<joint name="j2" type="revolute"><origin xyz="0 0 0.2"/><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
{LIMIT.format(-2, 2)}
<joint name="j3" type="prismatic"><origin xyz="0.1 0 0"/><parent link="b"/><child link="tcp"/>{LIMIT.format(0, 0.4)}
</robot>"""
OTHER_PROGRAMS = {
    "cd",
    "git",
    "rosdep",
    "pip",
    "colcon",
    "sudo",
    "export",
    "source",
    "curl",
    "node",
    "python3",
    "rviz2",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the files that snippets read, so that their output does not affect other tests."""
    for name in ("config", "urdf", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "package.xml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROS_DOMAIN_ID", "5")
    return tmp_path


def here(language):
    """Pages with blocks of a language that are run here."""
    return [page for page in PAGES if any(b.language == language and _is_run_here(b) for b in snippets(page))]


def _is_run_here(block):
    """Whether ELSEWHERE does not name it; test_tutorial.py runs all of its page."""
    return block.page != "tutorial" and (block.page, block.language, block.number) not in ELSEWHERE


@pytest.mark.parametrize("page", here("python"))
def test_python_runs(page, folder):
    """The blocks of a page run in their order and in one namespace, as in a session."""
    names = {"__name__": "__main__"}
    for block in filter(_is_run_here, snippets(page)):
        if block.language == "python":
            exec(compile(block.text, str(block), "exec"), names)


def prepare(page):
    """Write the files that the command lines of a page require."""
    if page == "README":
        shutil.copytree("urdf", ".", dirs_exist_ok=True)
        Path("arm.urdf.xacro").rename("ur.urdf.xacro")
    elif page == "exchange":
        assert main(["export", "config/demo/cell.yaml", "--output", "beam.json", "--state", "beam.state.json"]) == 0
    elif page == "howto":
        Path("arm.urdf").write_text(THREE_JOINTS)
        assert main(["new", "arm.urdf", "--folder", ".", "--overwrite", "--samples", "200"]) == 0
    elif page == "cartesian":
        Path("seam.csv").write_text(snippet("cartesian", "csv").text)
    elif page == "security":
        Path("monitor.policy.xml").write_text(snippet("security", "xml").text)


@pytest.mark.parametrize("page", sorted({*here("bash"), *here("console")}))
def test_command_lines(page, folder):
    prepare(page)
    for block in snippets(page):
        if block.language in ("bash", "console"):
            for words, status in block.commands:
                run(words, status)


def run(words, status):
    """Run a command line, or check its words where it needs nodes or files of others."""
    program, *words = words
    if program == "robot_cell":
        if not words or words[0].startswith("-") or words[0] == "up":
            check_start_of_nodes(words)
        elif words[0] in OF_RUNNING_NODES or any(name in word for word in words for name in FILES_OF_OTHERS):
            commands.get_command(None, words[0]).make_context(words[0], words[1:])
        else:
            assert main([re.sub(r"^~", ".", word) for word in words]) == status, words
    elif program == "cp":
        subprocess.run([program, *words], check=True)
    elif program == "ros2":
        check_ros2(words)
    elif program == "make":
        targets = (ROOT / "Makefile").read_text().split(".PHONY: ")[1].splitlines()[0].split()
        assert words[0] in targets
    elif program in ("python", "python3") and words[0].startswith("examples/"):
        assert (ROOT / words[0]).is_file()
    else:
        assert program in OTHER_PROGRAMS, program


def check_start_of_nodes(words):
    own = words[: words.index("--")] if "--" in words else words
    argument_parser().parse_args([word for word in own if word != "up"])


def check_ros2(words):
    if words[0] == "launch":
        declared = ARGUMENT.findall((ROOT / "launch" / words[2]).read_text())
        assert {word.partition(":=")[0] for word in words[3:]} <= set(declared)
    elif words[0] == "run":
        assert f"    {words[2]} = " in (ROOT / "setup.cfg").read_text()
        given = {word.partition(":=")[0] for option, word in pairwise(words) if option == "-p"}
        assert given <= {parameter.name for parameter in import_module(f"{NODES}.{MODULES[words[2]]}").PARAMETERS}
    else:
        assert words[:2] == ["service", "call"]
        package, _, name = words[3].split("/")
        assert package == "robot_cell_planner"
        assert (ROOT / "srv" / f"{name}.srv").is_file()


def test_requests_of_the_page_on_json_rpc(folder):
    request = snippet("rpc", "console").text.split("\n", 1)[1]
    second = json.dumps(json.loads(snippet("rpc", "json").text)) + "\n"
    words = snippet("rpc", "console").commands[0][0]
    command = [sys.executable, "-m", "robot_cell_planner.commands.main", *words[1:]]
    done = subprocess.run(command, input=request + second, capture_output=True, text=True, check=True, timeout=120)
    replies = list(map(json.loads, done.stdout.splitlines()))
    assert [reply["id"] for reply in replies] == [1, 2]
    assert all("result" in reply for reply in replies), replies


def test_cell_of_the_readme(folder):
    Path("arm.urdf").write_text(xacro.process_file(str(ROOT / "urdf" / "arm.urdf.xacro")).toxml())
    shutil.copytree(ROOT / "config" / "demo", "config", dirs_exist_ok=True)
    Path("cell.yaml").write_text(snippet("README", "yaml").text)
    cell, _ = load_cell("cell.yaml")
    assert list(cell.bodies) == ["table"]
    assert "manipulator" in cell.robot.groups


def test_section_of_the_page_on_simulation(folder):
    path = Path("config/demo/cell.yaml")
    own = path.read_text().partition("\nsimulation:")[0]
    path.write_text(f"{own}\n{snippet('simulation', 'yaml').text}")
    load_cell(path)
    assert load_simulated_robot(path).drives["elbow_joint"].friction == 4.0


def test_every_block_is_run():
    """A block runs here or in the test that ELSEWHERE names, which names the page; all other blocks are text."""
    runners = {"python", "bash", "console"}
    special = {("rpc", "json", 0), ("README", "yaml", 0), ("simulation", "yaml", 0), ("security", "xml", 0),
               ("cartesian", "csv", 0)}  # fmt: skip
    blocks = {(b.page, b.language, b.number) for page in PAGES for b in snippets(page) if b.language}
    assert {key for key in blocks - special - set(ELSEWHERE) if key[1] not in runners} == set()
    assert special | set(ELSEWHERE) <= blocks
    for (page, _, _), path in ELSEWHERE.items():
        assert path is None or re.search(rf"\b{page}(\.md|\")", (ROOT / path).read_text()), path


@pytest.mark.parametrize(
    ("language", "text"),
    [("bash", "robot_cell plan config/demo/cell.yaml --to nowhere"), ("bash", "robot_cell up --nothing"),
     ("bash", "robot_cell replay my_bag --nothing"), ("bash", "make nothing"), ("bash", "unknown_program"),
     ("bash", "ros2 launch robot_cell_planner cell.launch.py nothing:=true"),
     ("bash", "ros2 run robot_cell_planner scene_node --ros-args -p nothing:=true")],
)  # fmt: skip
def test_a_wrong_command_line_is_found(language, text, folder):
    [(words, status)] = Snippet("page", language, 0, text).commands
    with pytest.raises((AssertionError, SystemExit, ClickException)):
        run(words, status)


def exists(name):
    first, *rest = name.split(".")
    found = getattr(robot_cell_planner, first, None)
    for part in rest:
        fields = (*getattr(found, "__struct_fields__", ()), *getattr(found, "__dataclass_fields__", ()))
        if found is None or not (hasattr(found, part) or part in fields):
            return False
        found = getattr(found, part, True)
    return found is not None


@pytest.mark.parametrize("page", COMPARISONS)
def test_names_of_this_package_in_tables_exist(page):
    rows = [line.split("|") for line in PAGES[page].read_text().splitlines() if line.startswith("| ")]
    ours = [row[2] for row in rows if len(row) > 3]
    assert len(ours) > 5
    missing = [name for cell in ours for name in NAME.findall(cell) if not exists(name) and name not in IN_A_CELL_FILE]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page):
    assert [name for name in COMMAND.findall(PAGES[page].read_text()) if name not in (*COMMANDS, "up")] == []


def unknown_options(text):
    """Options in command lines of `robot_cell` in a text that their commands do not have."""
    found = []
    for line in LINE.findall(" ".join(text.split())):
        name = line.split()[0] if line.split() else ""
        if name in COMMANDS and name != "up":
            parameters = commands.get_command(None, name).params
            known = {option for each in parameters for option in (*each.opts, *each.secondary_opts)}
        else:
            known = {option for action in argument_parser()._actions for option in action.option_strings}
        found += [f"{name} {option}" for option in OPTION.findall(line) if option not in known | GENERAL]
    return found


@pytest.mark.parametrize("page", PAGES)
def test_options_in_the_text_exist(page):
    assert unknown_options(FENCED.sub("", PAGES[page].read_text())) == []


def test_an_unknown_option_is_found():
    text = "`robot_cell plan cell.yaml --json`, `robot_cell plan --nothing`, `robot_cell --moveit`, `robot_cell --seed`"
    assert unknown_options(text) == ["plan --nothing", "--seed --seed"]


def test_every_exported_name_can_be_imported():
    for name in robot_cell_planner.__all__:
        assert getattr(robot_cell_planner, name) is not None


def test_an_unknown_name_is_found():
    assert exists("CollisionChecker.report")
    assert not exists("CollisionChecker.nothing")
    assert not exists("plan_nothing")
