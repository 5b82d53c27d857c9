"""The sources of the package: their imports, and the sections of the document of interfaces."""

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "robot_cell_planner"
# Sections of docs/interfaces.md, with the node that each is about.
SECTIONS = {
    "Scene node": "scene_node",
    "Kinematics node": "kinematics_node",
    "Collision node": "collision_node",
    "Planning node": "planning_node",
    "Execution node": "execution_node",
    "Simulated robot": "simulated_robot_node",
    "MoveIt adapter": "moveit_adapter_node",
    "Viewer": "viewer_node",
}


@dataclass(frozen=True)
class Import:
    """`module` (absolute) is imported by `path`, in a line."""

    path: Path
    line: int
    module: str

    def __str__(self):
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.module}"


def imports_of(path):
    """All imports of a file, wherever they are in it; relative ones resolved."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(path, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(path, node)
            # `from package import name`: the name may be a module.
            yield from (Import(path, node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _absolute(path, node):
    if node.level == 0:
        return node.module
    package = path.relative_to(ROOT).parent.parts
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def sources(folder=PACKAGE):
    """The Python files below a folder of the repository."""
    return sorted((ROOT / folder).rglob("*.py"))
