"""Requirements on the operating system: a C++ compiler, CMake, make, and Python's venv and headers."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from layout import Layout, SetupError

SUPPORTED = ((3, 10), (3, 13))


def require_supported_python() -> None:
    """Refuse a Python that the pinned packages do not support."""
    lowest, highest = SUPPORTED
    if not lowest <= sys.version_info[:2] <= highest:
        raise SetupError(
            f"{sys.executable} is Python {sys.version.split()[0]}; Python {lowest[0]}.{lowest[1]} to "
            f"{highest[0]}.{highest[1]} is needed: name one with PYTHON=..."
        )


def require_ascii_path(layout: Layout) -> None:
    """Refuse a folder whose path CMake's scripts for ROS interfaces cannot read."""
    if not str(layout.root).isascii():
        raise SetupError(
            f"{layout.root}: ROS interfaces cannot be built below a folder whose path has other characters than ASCII; "
            "move the repository"
        )


def require_system_packages() -> None:
    """Install missing packages where that is allowed, else name them in one line."""
    missing = _missing()
    if not missing:
        return
    command = _privileged_apt_get()
    if command is None:
        raise SetupError(
            f"missing on this system: {' '.join(missing)}; on Debian or Ubuntu: "
            f"sudo apt-get install {' '.join(missing)}"
        )
    print(f"installing {' '.join(missing)} with apt-get", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *missing]):
        subprocess.run([*command, *arguments], check=True, env=environment, stdin=subprocess.DEVNULL)
    if still_missing := _missing():
        raise SetupError(f"apt-get was run, but these are still missing: {' '.join(still_missing)}")


def _missing() -> list[str]:
    """Debian's names of the packages that are missing."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    missing = [tool for tool in ("g++", "cmake", "make") if shutil.which(tool) is None]
    if importlib.util.find_spec("ensurepip") is None:
        missing.append(f"{python}-venv")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        missing.append(f"{python}-dev")
    return missing


def _privileged_apt_get() -> list[str] | None:
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return ["apt-get"]
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n", "apt-get"]
    return None
