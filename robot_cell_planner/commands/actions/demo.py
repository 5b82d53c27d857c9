"""`robot_cell demo`: the demonstrations of the installed package."""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from ...errors import ResourceError
from ...system.private_files import fresh_folder, make_folder
from ..demo import SCRIPTS
from ..reporting import FAILED, echo_json, import_failure

PACKAGE = "robot_cell_planner"
FOLDER = "demo_record"
INTERFACES = ("rclpy", f"{PACKAGE}.action")


def demo(cell: str, seed: int, nodes: bool | None, output: Path | None, as_json: bool) -> int:
    """Run a demonstration."""
    on_nodes = all(map(_is_there, INTERFACES)) if nodes is None else nodes
    share = _share()
    file = share / "config" / cell / "cell.yaml"
    script = share / "examples" / f"{SCRIPTS[cell]}{'' if on_nodes else '_library'}.py"
    if not script.is_file():
        text = f"{script} does not exist: install the complete package, or run `make demo` in its repository"
        raise ResourceError(text, subjects=(str(script),))
    output = fresh_folder(FOLDER) if output is None else make_folder(output)
    with _stdout_as_stderr() if as_json else _unchanged():
        status = _with_nodes(file, script, seed, output) if on_nodes else _alone(file, script, seed, output)
    if as_json:
        record = output / "record.json"
        found = {"cell": cell, "seed": seed, "nodes": on_nodes, "success": status == 0, "folder": str(output)}
        verdict = json.loads(record.read_bytes())["verdict"] if on_nodes and status == 0 else None
        echo_json({**found, "verdict": verdict})
    return FAILED if status else 0


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def _share() -> Path:
    """Return the folder with cells and examples: the repository's, or the installed one."""
    repository = Path(__file__).resolve().parents[3]
    if (repository / "examples").is_dir():
        return repository
    from ...io.common.resources import package_share

    return package_share(PACKAGE).folder


def _with_nodes(cell: Path, script: Path, seed: int, output: Path) -> int:
    """Start the nodes, and the script as their client. Returns the exit status of the session."""
    try:
        from ...nodes.bringup.command_line import main as start
    except ImportError as error:
        raise import_failure("the nodes need ROS 2", error, "Try --simulation; ") from error
    parameters = cell.parent / "parameters.yaml"
    own = ["--cell", str(cell), *(["--params", str(parameters)] if parameters.is_file() else [])]
    return start([*own, "--", sys.executable, str(script), "--seed", str(seed), "--output", str(output)])


def _alone(cell: Path, script: Path, seed: int, output: Path) -> int:
    """Run a script without ROS. Returns its exit status."""
    own, sys.argv = sys.argv, [str(script), str(cell), str(seed), str(output)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as ended:
        return int(bool(ended.code))
    finally:
        sys.argv = own
    return 0


@contextmanager
def _stdout_as_stderr() -> Iterator[None]:
    """Send what this process and its children print to the standard error stream."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


@contextmanager
def _unchanged() -> Iterator[None]:
    yield
