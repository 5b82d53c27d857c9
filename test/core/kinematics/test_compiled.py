"""The cache of compiled kernels on disk."""

import os
import subprocess
import sys
from pathlib import Path

KERNELS = """
from robot_cell_planner.system.compiled import compiled

@compiled
def twice(x):
    return 2.0 * x
"""
SCRIPT = "import sys; sys.path.insert(0, sys.argv[1]); from some_kernels import twice; assert twice(1.5) == 3.0"


def copies(cache: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}


def run(folder: Path, cache: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], env=environment, cwd=folder, check=True, timeout=500)


def test_a_kernel_is_compiled_once_for_all_symbolic_links_to_it(tmp_path):
    sources, link, cache = tmp_path / "sources", tmp_path / "link", tmp_path / "cache"
    sources.mkdir()
    (sources / "some_kernels.py").write_text(KERNELS)
    link.symlink_to(sources)
    run(link, cache)
    first = copies(cache)
    assert len(first) == 1
    run(sources, cache)
    assert copies(cache) == first


def test_a_changed_kernel_is_compiled_again(tmp_path):
    (tmp_path / "some_kernels.py").write_text(KERNELS)
    run(tmp_path, tmp_path / "cache")
    first = copies(tmp_path / "cache")
    (tmp_path / "some_kernels.py").write_text(KERNELS.replace("2.0 * x", "x + x"))
    run(tmp_path, tmp_path / "cache")
    assert copies(tmp_path / "cache") != first
