"""Make the environment of this repository in `.venv/`: `python3 tools/environment`, or `make setup`.

With `--for-demo`, the interfaces of MoveIt are not built, which takes half of a first set-up: `make demo` needs none.

The variable DISTRO names the distribution of ROS 2, if it is not the default one: its environment is `.venv-<DISTRO>/`.

Each stage is skipped where its inputs have not changed since it was last finished. Uses the standard library alone,
as it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
from pathlib import Path

from byte_code import compile_sources
from kernels import KernelCompilation
from layout import DISTRIBUTIONS, Layout, SetupError
from python_packages import install_packages, make_virtual_environment
from ros_installation import sourced_ros
from shell_setup import write_setup_file
from system_packages import require_ascii_path, require_supported_python, require_system_packages
from type_stubs import write_stubs
from workspace import build


def set_up(layout: Layout, *, with_optional: bool = True) -> None:
    """Do all stages. Two set-ups of one repository wait for each other.

    with_optional: Build also the interface packages that only single nodes need, and write type stubs of all.
    """
    require_supported_python()
    require_ascii_path(layout)
    folder = os.open(layout.root, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    require_system_packages()
    ros = sourced_ros(layout)
    make_virtual_environment(layout, with_ros=ros is not None)
    install_packages(layout, with_ros=ros is not None)
    write_setup_file(layout, ros)
    kernels = KernelCompilation(layout)
    try:
        build(layout, ros, with_optional=with_optional)
        if with_optional:  # of all interface packages, which exist only then
            write_stubs(layout, ros)
        compile_sources(layout)
        kernels.finish()
    except BaseException:
        kernels.cancel()
        raise


def requested_distribution() -> str:
    """The distribution that DISTRO names, or the default one."""
    name = os.environ.get("DISTRO") or DISTRIBUTIONS[0]
    if name not in DISTRIBUTIONS:
        raise SetupError(f"DISTRO={name}: expected one of {', '.join(DISTRIBUTIONS)}")
    return name


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the environment of this repository.")
    parser.add_argument("--for-demo", action="store_true", help="only what `make demo` needs")
    arguments = parser.parse_args()
    try:
        layout = Layout(Path(__file__).resolve().parents[2], requested_distribution())
        set_up(layout, with_optional=not arguments.for_demo)
    except (SetupError, subprocess.CalledProcessError) as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
