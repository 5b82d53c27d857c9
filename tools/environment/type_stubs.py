"""Type stubs of the ROS interfaces, for mypy: in `cache/stubs` of the virtual environment."""

from __future__ import annotations

from pathlib import Path

from layout import Layout, digest
from python_packages import run
from ros_installation import RosInstallation
from workspace import INTERFACES


def write_stubs(layout: Layout, ros: RosInstallation | None) -> None:
    """Write them anew if an interface, the environment or the script that writes them has changed."""
    script = layout.root / "tools" / "interface_stubs.py"
    folders = ("", "underlay/*/", "underlay/*/*/")
    interfaces = sorted(
        path for folder in folders for kind in INTERFACES for path in layout.root.glob(f"{folder}{kind}/*.{kind}")
    )
    key = digest([ros.distro if ros else "wheels"], [script, Path(__file__), layout.constraints, *interfaces])
    stamp = layout.stamp("stubs")
    if not stamp.is_current(key):
        command = [str(layout.root / "tools" / "with_environment"), "python", str(script)]
        run([*command, str(layout.venv / "cache" / "stubs")])
        stamp.write(key)
