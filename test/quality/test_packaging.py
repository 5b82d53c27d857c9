"""The metadata of the package in its several files are consistent with each other and with the code."""

import ast
import configparser
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.metadata import distribution
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from sources import PACKAGE, ROOT, imports_of, sources

import robot_cell_planner
from robot_cell_planner.nodes.bringup.command_line import NODES
from robot_cell_planner.nodes.common.dependencies import DISTRIBUTIONS, MISSING, remedy, start

REQUIREMENTS = ROOT / "requirements"
MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()
INTERFACES = sorted(path for kind in ("msg", "srv", "action") for path in ROOT.glob(f"{kind}/*.{kind}"))
# A ROS 2 package that Python code imports, by module where the names differ.
ROS_MODULES = {"tf2_ros": "tf2_ros_py"}
STUBS = {"interface_types"}  # for type checkers alone, written by tools/interface_stubs.py
NEWER_STANDARD = {"compression"}  # of the standard library from Python 3.14 on


def setup_cfg():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def console_scripts():
    lines = setup_cfg()["options.entry_points"]["console_scripts"].strip().split("\n")
    return dict(re.split(r"\s*=\s*", line.strip()) for line in lines)


def listed(name):
    """The package names in a requirements file, normalised (PEP 503)."""
    lines = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines if not line.startswith("#"))
    return {normalised(found[0]) for found in names if found}


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*tags):
    return {element.text for tag in tags for element in MANIFEST.findall(tag)}


def third_party(paths):
    """Top-level modules that files import, besides the standard library and the package itself."""
    modules = {found.module.partition(".")[0] for path in paths for found in imports_of(path)}
    return modules - set(sys.stdlib_module_names) - NEWER_STANDARD - STUBS - {PACKAGE}


def is_ros(module):
    return module in (
        "ament_index_python",
        "rclpy",
        "rosidl_parser",
        "launch",
        "launch_ros",
        "tf2_ros",
    ) or module.endswith(("_msgs", "_interfaces", "_srvs"))


def test_versions_agree():
    versions = {robot_cell_planner.__version__, MANIFEST.findtext("version"), setup_cfg()["metadata"]["version"]}
    assert len(versions) == 1


def test_every_node_is_an_executable():
    assert {f"{name}_node" for name in NODES} <= set(console_scripts())


@pytest.mark.parametrize("name", sorted(console_scripts()))
def test_executable_exists_and_is_installed(name):
    module, function = console_scripts()[name].split(":")
    path = ROOT / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    names = {
        name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert function in names
    assert (Path(get_package_prefix(PACKAGE)) / "lib" / PACKAGE / name).is_file()


@pytest.mark.parametrize("folder", ["short", "with space", "long" * 40])
def test_executable_starts_a_python_in_any_folder(tmp_path, folder):
    python = tmp_path / folder / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    scripts = runpy.run_path(str(ROOT / "cmake" / "console_scripts.py"), run_name="console_scripts")
    script = tmp_path / "script"
    script.write_text(f"{scripts['first_line'](str(python))}\nimport sys\nprint(sys.argv[1:])\n")
    for path in (python, script):
        path.chmod(0o755)
    done = subprocess.run([script, "a b", "c"], capture_output=True, text=True, check=True)
    assert done.stdout == "['a b', 'c']\n"


@pytest.mark.parametrize("folder", ["launch", "config", "urdf"])
def test_data_is_installed(folder):
    share = Path(get_package_share_directory(PACKAGE))
    missing = [
        str(path)
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and not (share / path.relative_to(ROOT)).is_file()
    ]
    assert not missing


def test_data_inside_the_python_package_is_part_of_it():
    entries = setup_cfg()["options.package_data"].items()
    patterns = {package: re.split(r"[,\s]+", value.strip()) for package, value in entries}
    data = [
        path
        for path in (ROOT / PACKAGE).rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    ]
    covered = {
        path
        for package, globs in patterns.items()
        for glob in globs
        for path in ROOT.joinpath(*package.split(".")).glob(glob)
    }
    assert sorted(set(data) - covered) == []


def test_every_interface_is_generated():
    for path in INTERFACES:
        module = __import__(f"{PACKAGE}.{path.parent.name}", fromlist=[path.stem])
        assert hasattr(module, path.stem), path


def test_interface_dependencies_are_declared_where_they_are_used():
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    in_cmake = set(re.search(r"set\(interface_dependencies([^)]*)\)", cmake)[1].split())
    lines = [line.split("#")[0] for path in INTERFACES for line in path.read_text(encoding="utf-8").splitlines()]
    used = {found[1] for line in lines if (found := re.match(r"\s*([a-z][a-z0-9_]*)/[A-Z]", line))} - {PACKAGE}
    if any(path.suffix == ".action" for path in INTERFACES):
        used.add("action_msgs")
    assert in_cmake == used
    assert in_cmake <= declared("depend")


def test_ros_dependencies_of_the_code_are_declared():
    used = {module for module in third_party([*sources(), ROOT / "launch" / "cell.launch.py"]) if is_ros(module)}
    packages = {ROS_MODULES.get(module, module) for module in used}
    assert packages <= declared("depend", "exec_depend")
    unused = {name for name in declared("exec_depend") if is_ros(name)} - packages
    assert not unused, "declared, but not imported"


def test_libraries_of_the_code_are_required():
    modules = {module for module in third_party(sources()) if not is_ros(module)}
    distributions = {normalised(DISTRIBUTIONS.get(module, module)) for module in modules}
    lists = ("library", "demo", "viewer", "learning", "mujoco")
    assert distributions <= {name for each in lists for name in listed(each)}


def test_names_of_distributions_are_correct():
    for module, name in DISTRIBUTIONS.items():
        assert any(module in path.parts for path in distribution(name).files), module


def test_every_requirement_is_pinned():
    pinned = listed("constraints")
    for path in REQUIREMENTS.glob("*.txt"):
        assert listed(path.stem) <= pinned, path.name


def test_every_pin_is_exact():
    lines = (REQUIREMENTS / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.match(r"[A-Za-z0-9._-]+==[^ ]+( ; .+)?$", line)] == []


def test_requirements_are_installed_with_the_package():
    share = Path(get_package_share_directory(PACKAGE))
    for name in ("library.txt", "viewer.txt", "constraints.txt"):
        assert (share / "requirements" / name).read_bytes() == (REQUIREMENTS / name).read_bytes()


def test_a_missing_library_is_reported_in_one_line_with_its_remedy(capsys, monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'pinocchio'", name="pinocchio.visualize")

    monkeypatch.setattr("importlib.import_module", fail)
    assert start("scene_node", "robot_cell_planner.nodes.scene.node:main") == MISSING
    output = capsys.readouterr().err
    assert output.count("\n") == 1
    assert output.startswith("scene_node: the Python library pin (module pinocchio) is missing for ")
    library = Path(re.search(r"-r (\S+)", output)[1])
    constraints = Path(re.search(r"-c (\S+)", output)[1])
    assert library.is_file()
    assert constraints.is_file()


@pytest.mark.parametrize(
    "module, expected",
    [
        ("rclpy", "the ROS 2 package rclpy is missing"),
        ("control_msgs", "the ROS 2 package control_msgs is missing"),
        ("robot_cell_planner", "the interfaces of robot_cell_planner are missing"),
        ("viser", "the Python library viser (module viser) is missing"),
    ],
)
def test_other_missing_modules_have_their_own_remedies(module, expected):
    assert remedy(module).startswith(expected)


def test_a_missing_module_of_this_package_is_raised_as_it_is():
    with pytest.raises(ModuleNotFoundError, match=r"robot_cell_planner\.nodes\.absent"):
        start("absent_node", "robot_cell_planner.nodes.absent:main")


def test_test_files_have_different_names():
    """pytest imports test files by their base name."""
    names = [path.name for path in (ROOT / "test").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
