"""The colcon workspace in the virtual environment: this package, and the interface packages that ROS lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

from layout import PACKAGE, Layout, digest
from python_packages import run
from ros_installation import RosInstallation, distribution, has_ament_package
from shell_setup import build_environment

# The build reads these.
CONTENT = (
    "CMakeLists.txt",
    "package.xml",
    "setup.cfg",
    "cmake/*",
    "requirements/library.txt",
    "requirements/constraints.txt",
)
INTERFACES = ("msg", "srv", "action")
# Packages of `underlay/` that only moveit_adapter_node and tests need.
OPTIONAL = ("moveit_msgs", "object_recognition_msgs", "octomap_msgs")


def missing_underlay(layout: Layout, ros: RosInstallation | None) -> list[Path]:
    """The packages below `underlay/` that the environment does not bring."""
    packages = sorted(path.parent for path in (layout.root / "underlay").glob("*/package.xml"))
    prefixes = ros.search_paths["AMENT_PREFIX_PATH"] if ros else (str(layout.venv),)
    return [package for package in packages if not has_ament_package(prefixes, package.name)]


def interface_files(package: Path, variant: Path) -> list[Path]:
    """The interfaces of a package; those that the distribution of ROS 2 has in another form are in the folder
    `variant`."""
    return [
        variant / kind / path.name if (variant / kind / path.name).exists() else path
        for kind in INTERFACES
        for path in sorted(package.glob(f"{kind}/*.{kind}"))
    ]


def build(layout: Layout, ros: RosInstallation | None, *, with_optional: bool = True) -> None:
    """Build what is out of date, without the packages of `OPTIONAL` unless `with_optional`.

    Nothing that is edited is copied: the Python package is found through the link `source/`, and launch files,
    cells and robots through links to their folders (`IN_PLACE`; colcon's own links, one for each generated file, take
    20 s to make).
    """
    _link(layout.source / PACKAGE, layout.root / PACKAGE)
    installed = _digest_of_build_packages(layout, ros)
    everything = layout.stamp("workspace")
    underlay = [path for path in missing_underlay(layout, ros) if with_optional or path.name not in OPTIONAL]
    packages = {package.name: package for package in underlay} | {PACKAGE: layout.root}
    variants = layout.root / "underlay" / distribution(layout, ros)
    interfaces = {name: interface_files(package, variants / name) for name, package in packages.items()}
    digests = {name: _digest(package, interfaces[name]) for name, package in packages.items()}
    removed = any(_has_others(layout.workspace / "src" / name, interfaces[name]) for name in packages)
    if removed or not everything.is_current(installed):
        # CMake's cache holds the paths of packages that may have been added or removed since, colcon keeps the code of
        # removed interfaces, and a build that was interrupted leaves incomplete files that look like new ones.
        shutil.rmtree(layout.workspace, ignore_errors=True)
        everything.clear()
    outdated = [
        name
        for name in packages
        if not (everything.is_current(installed) and layout.stamp(f"build_{name}").is_current(digests[name]))
    ]
    if not outdated:
        return
    everything.clear()
    print(f"building {', '.join(outdated)}", flush=True)
    for name, package in packages.items():
        _lay_out(package, interfaces[name], layout.workspace / "src" / name)
    _run_colcon(layout, ros, outdated)
    for name in outdated:
        _install_comments(interfaces[name], layout.install / "share" / name)
    everything.write(installed)
    for name in outdated:
        layout.stamp(f"build_{name}").write(digests[name])


def _run_colcon(layout: Layout, ros: RosInstallation | None, names: list[str]) -> None:
    run(
        [
            str(layout.venv / "bin" / "colcon"),
            "--log-base",
            str(layout.workspace / "log"),
            "build",
            "--base-paths",
            str(layout.workspace / "src"),
            "--packages-select",
            *names,
            "--build-base",
            str(layout.workspace / "build"),
            "--install-base",
            str(layout.install),
            "--merge-install",
            "--event-handlers",
            "status-",
            "console_start_end-",
            "console_stderr+",
            "--cmake-args",
            f"-DPython3_EXECUTABLE={layout.python}",
            "-DPYTHON_ONLY=ON",
            "-DIN_PLACE=ON",
            "--no-warn-unused-cli",  # the underlay has nothing to link
            "-DBUILD_TESTING=OFF",
            "-DCMAKE_WARN_DEPRECATED=OFF",  # of calls in the generators of interfaces of an older ROS 2
        ],
        cwd=layout.venv,
        env=build_environment(layout, ros),
    )


def _has_others(folder: Path, interfaces: list[Path]) -> bool:
    """Whether the folder of a package in the workspace has other interfaces besides these."""
    names = {(path.parent.name, path.name) for path in interfaces}
    return any((path.parent.name, path.name) not in names for kind in INTERFACES for path in folder.glob(f"{kind}/*"))


def _digest_of_build_packages(layout: Layout, ros: RosInstallation | None) -> str:
    """A hash of the versions of the packages that a build uses: of ROS, of code generators, and of numpy."""
    pins = layout.constraints.read_text(encoding="utf-8").splitlines()
    used = [pin for pin in pins if pin.startswith(("ros-", "empy", "lark", "numpy"))]
    return digest(["in place, with comments", str(layout.root), ros.distro if ros else "wheels", *used])


def _digest(package: Path, interfaces: list[Path]) -> str:
    """A hash of the inputs of a build of a package."""
    content = sorted(path for pattern in CONTENT for path in package.glob(pattern))
    return digest([], [*content, *interfaces])


def _lay_out(package: Path, interfaces: list[Path], folder: Path) -> None:
    """Lay a package out in the workspace: links to its files, and its interfaces without their comments.

    Parsing the comments would take most of the time that the interfaces take to generate, and types, names and type
    hashes do not depend on them. The package is not linked as a whole, as CMake refuses dependencies that lie below
    its source folder, where .venv is.
    """
    for kind in INTERFACES:
        _copy_without_comments([path for path in interfaces if path.parent.name == kind], folder / kind)
    for entry in sorted(package.iterdir()):
        if entry.name not in INTERFACES and not entry.name.startswith("."):
            _link(folder / entry.name, entry)
    for entry in folder.iterdir():
        if not (package / entry.name).exists():
            entry.unlink() if entry.is_symlink() else shutil.rmtree(entry)


def _copy_without_comments(interfaces: list[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in interfaces:
        lines = path.read_text(encoding="utf-8").splitlines()
        # A default value in quotes may hold a number sign: such a line keeps what follows it.
        bare = [
            line if '"' in line.split("#")[0] or "'" in line.split("#")[0] else line.split("#")[0].rstrip()
            for line in lines
        ]
        text = "\n".join(line for line in bare if line) + "\n"
        copy = folder / path.name
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")
    for copy in folder.iterdir():
        if copy.name not in {path.name for path in interfaces}:
            copy.unlink()


def _install_comments(interfaces: list[Path], share: Path) -> None:
    """Put links to the interfaces' sources where copies without comments were installed: `ros2 interface show` prints
    those files."""
    for path in interfaces:
        installed = share / path.parent.name / path.name
        installed.unlink(missing_ok=True)
        installed.symlink_to(path)


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(target)
