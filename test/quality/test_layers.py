"""The layer rule: packages import only lower ones, folders have no cyclic imports, and only `nodes` uses ROS 2."""

import subprocess
import sys
from graphlib import CycleError, TopologicalSorter

import pytest
from sources import PACKAGE, ROOT, Import, imports_of, sources

RANKS = {
    "errors": 0,
    "system": 1,
    "security": 2,
    "model": 2,
    "io": 3,
    "kinematics": 4,
    "scene": 5,
    "collision": 6,
    "trajectory": 7,
    "planning": 8,
    "simulation": 8,
    "setup_assistant": 9,
    "viewer": 9,
    "cases": 9,
    "exchange": 10,
    "environments": 10,
    "offline": 10,
    "rpc": 11,
    "nodes": 11,
    "commands": 12,
}
ROS = ("ament_index_python", "launch", "launch_ros", "rcl_interfaces", "rclpy", "tf2_ros")
GENERATED = ("action", "msg", "srv")  # the package's own interfaces


def layer_of(path):
    first = path.relative_to(ROOT / PACKAGE).parts[0]
    return first.removesuffix(".py")


def is_ros(module):
    first, _, rest = module.partition(".")
    own = first == PACKAGE and rest.partition(".")[0] in GENERATED
    return own or first in ROS or first.endswith(("_msgs", "_interfaces"))


def breaches(path):
    """The imports of a file that violate the rule."""
    own = layer_of(path)
    for found in imports_of(path):
        if is_ros(found.module) and own != "nodes":
            yield found
        elif found.module.startswith(f"{PACKAGE}."):
            other = found.module.split(".")[1]
            if other in RANKS and other != own and RANKS[other] >= RANKS[own]:
                yield found


def layers():
    return [path for path in sources() if path.name != "__init__.py" or path.parent.name != PACKAGE]


def test_every_module_belongs_to_a_layer():
    unknown = {layer_of(path) for path in layers()} - set(RANKS)
    assert not unknown


def test_layers_import_downwards_only():
    found = [str(breach) for path in layers() for breach in breaches(path)]
    assert not found, "\n".join(found)


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_within(paths):
    """The files that each file imports, of some files."""
    files = {module_of(path): path for path in paths}
    found = {path: set() for path in paths}
    for path in paths:
        for each in imports_of(path):
            module = each.module if each.module in files else each.module.rpartition(".")[0]
            if module in files and files[module] != path:
                found[path].add(files[module])
    return found


def folder_of(path):
    """The folder of a file; files at the top are their own folder."""
    return path if path.parent == ROOT / PACKAGE else path.parent


def folders_of(graph):
    """The folders that each folder imports. An `__init__` is left out: it exports what its folder has."""
    found = {}
    for path, others in graph.items():
        if path.name != "__init__.py":
            targets = {folder_of(other) for other in others if other.name != "__init__.py"}
            found.setdefault(folder_of(path), set()).update(targets - {folder_of(path)})
    return found


def order(graph):
    return tuple(TopologicalSorter(graph).static_order())


def test_no_files_import_each_other():
    assert order({path: others for path, others in imports_within(layers()).items() if path.name != "__init__.py"})


def test_folders_have_no_cyclic_imports():
    assert order(folders_of(imports_within(layers())))


def test_folders_that_import_each_other_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("sources.ROOT", tmp_path)
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    texts = {"a/one": "from ..b.two import x", "b/two": "", "b/three": "from ..a import one"}
    paths = [tmp_path / PACKAGE / f"{name}.py" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    graph = imports_within(paths)
    assert len(order(graph)) == 3  # the files do not
    with pytest.raises(CycleError):
        order(folders_of(graph))


def test_a_breach_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("sources.ROOT", tmp_path)
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / PACKAGE / "model" / "bad.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "from ..kinematics.model import CellModel\n"
        "from .. import planning\n"
        "from ..errors import RobotCellError\n"
        "from .pose import Pose\n"
        "def later():\n"
        "    import rclpy.node\n"
        "    from geometry_msgs.msg import Point\n"
        "    from robot_cell_planner.msg import Target\n"
        "    import numpy\n"
    )
    modules = [
        "robot_cell_planner.kinematics.model.CellModel",
        "robot_cell_planner.planning",
        "rclpy.node",
        "geometry_msgs.msg.Point",
        "robot_cell_planner.msg.Target",
    ]
    assert [breach.module for breach in breaches(path)] == modules
    assert list(breaches(path))[1] == Import(path, 2, "robot_cell_planner.planning")


def test_the_library_works_without_ros():
    """All of the library can be imported without any ROS package."""
    modules = [module_of(path) for path in layers() if layer_of(path) != "nodes"]
    code = f"""
import importlib, importlib.abc, sys

class NoRos(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first in {ROS!r} and first != "ament_index_python" or first.endswith(("_msgs", "_interfaces")):
            raise ModuleNotFoundError(f"no {{name}} here", name=name)

sys.meta_path.insert(0, NoRos())
for module in {modules!r}:
    importlib.import_module(module)
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_example_without_ros_imports_no_ros():
    found = [
        str(found)
        for found in imports_of(ROOT / "examples" / "pick_and_place_library.py")
        if is_ros(found.module) or found.module.startswith(f"{PACKAGE}.nodes")
    ]
    assert not found
