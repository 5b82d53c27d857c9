"""The numeric kernels, compiled in parallel to the build of the interfaces, so that no program has to wait for them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from layout import Layout, SetupError, digest


class KernelCompilation:
    """Compiles in a process of its own, from construction until `finish`; nothing happens if the same kernels were
    compiled before."""

    def __init__(self, layout: Layout) -> None:
        self._stamp = layout.stamp("kernels")
        self._digest = digest([str(layout.root)], [layout.constraints, *_sources(layout.root)])
        self._process: subprocess.Popen[bytes] | None = None
        if not self._stamp.is_current(self._digest):
            print("compiling numeric kernels", flush=True)
            command = [str(layout.root / "tools" / "with_environment"), "python", "-c"]
            program = "import robot_cell_planner.planning.workers.preload"
            self._process = subprocess.Popen([*command, program], cwd=layout.venv)

    def finish(self) -> None:
        """Wait for the end."""
        if self._process is None:
            return
        if self._process.wait() != 0:
            raise SetupError("the numeric kernels could not be compiled; the reason is above")
        self._stamp.write(self._digest)

    def cancel(self) -> None:
        """End the compilation, whatever its progress."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _sources(root: Path) -> list[Path]:
    """Return the files of the package that define kernels, or parts of them."""
    files = sorted((root / "robot_cell_planner").rglob("*.py"))
    return [path for path in files if path.parent.name == "_kernels" or b"@compiled" in path.read_bytes()]
