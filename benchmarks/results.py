"""Figures of a benchmark: printed as a table, and written as flat names to numbers."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "results"
LIBRARIES = ("pin", "coal", "pybullet", "mujoco", "ompl", "ruckig", "eaik", "numba", "numpy")


class Results:
    """The figures of one area, with the seed they were made with, the versions of libraries, and the
    machine."""

    def __init__(self, area: str, seed: int) -> None:
        self._area = area
        self._seed = seed
        self._figures: dict[str, float] = {}

    def add(self, name: str, value: float) -> None:
        """Add a figure and print it. The unit is the end of the name: _us, _ms, _s, _m."""
        self._figures[name] = value
        print(f"{name:<60} {value:>14.4g}", flush=True)

    def __getitem__(self, name: str) -> float:
        return self._figures[name]

    def __contains__(self, name: str) -> bool:
        return name in self._figures

    def finish(self, update: bool = False) -> Path:
        """Write benchmarks/results/<area>.json. update: keep the figures in the file that were not measured now."""
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{self._area}.json"
        earlier = json.loads(path.read_text()) if update and path.exists() else {}
        record = {
            **earlier,
            **self._figures,
            "seed": self._seed,
            "versions": {name: _version(name) for name in LIBRARIES},
            "machine": {
                "processor": _processor(),
                "cores": os.cpu_count(),
                "python": platform.python_version(),
                "system": platform.platform(),
            },
        }
        path.write_text(json.dumps(record, indent=2) + "\n")
        print(f"written: {path}")
        return path


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
