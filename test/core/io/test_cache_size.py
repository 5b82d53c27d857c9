"""The mesh cache keeps the newest entries whose bytes are within its bound."""

import os
import time

import numpy as np
import pytest

from robot_cell_planner.io.mesh import cache
from robot_cell_planner.io.mesh.cache import read_cached, write_cached

HEADER = 26 + 32 + 16  # [bytes] of an entry without vertices and faces
FACES = np.zeros((0, 3), dtype=np.int32)
MAX_BYTES = 10_000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr(cache, "MAX_BYTES", MAX_BYTES)
    return tmp_path / "meshes"


class Writer:
    """Writes entries of given sizes [bytes], each a second younger than the one before."""

    def __init__(self, folder):
        self.folder, self.written = folder, []

    def write(self, size):
        digest = f"{len(self.written):064x}"
        vertices = np.zeros(((size - HEADER) // 24, 3))
        write_cached(digest, "mesh", vertices, FACES)
        at = time.time() - 1000.0 + len(self.written)
        os.utime(self.folder / f"{digest}.mesh", (at, at))
        self.written.append((digest, HEADER + 24 * len(vertices)))

    def kept(self):
        return [index for index, (digest, _) in enumerate(self.written) if read_cached(digest, "mesh") is not None]


def newest_within(sizes, bound):
    """Indices of the newest entries that are together within a bound, and in any case the last one."""
    kept, total = [], 0
    for index in range(len(sizes) - 1, -1, -1):
        total += sizes[index]
        if total > bound and kept:
            break
        kept.insert(0, index)
    return kept


@pytest.mark.parametrize("seed", range(5))
def test_the_newest_entries_within_the_bound_are_kept(folder, seed):
    """Whatever the sizes are, after each entry that is written."""
    sizes, writer = np.random.default_rng(seed).integers(100, 6000, 30), Writer(folder)
    expected = []
    for size in sizes.tolist():
        writer.write(size)
        expected.append(len(writer.written) - 1)
        in_cache = [writer.written[index][1] for index in expected]
        expected = [expected[index] for index in newest_within(in_cache, MAX_BYTES)]
        assert writer.kept() == expected
        assert sum(path.stat().st_size for path in folder.iterdir()) <= MAX_BYTES
    assert len(expected) < len(sizes)


def test_an_entry_above_the_bound_is_kept_alone_until_the_next_one(folder):
    writer = Writer(folder)
    for size, kept in ((3000, [0]), (20_000, [1]), (3000, [2])):
        writer.write(size)
        assert writer.kept() == kept


def test_the_number_of_entries_is_bounded_too(folder, monkeypatch):
    monkeypatch.setattr(cache, "MAX_ENTRIES", 3)
    writer = Writer(folder)
    for _ in range(5):
        writer.write(100)
    assert writer.kept() == [2, 3, 4]


@pytest.mark.parametrize("name", [".writing-abc", f"{'7' * 64}.mesh.lock"])
def test_what_other_processes_write_or_lock_is_removed_only_when_it_is_old(folder, name):
    writer = Writer(folder)
    writer.write(3000)
    other = folder / name
    other.write_bytes(bytes(20_000))
    os.utime(other, (time.time() - 1800.0,) * 2)
    writer.write(3000)
    assert other.exists()
    assert writer.kept() == [0, 1]
    os.utime(other, (time.time() - 7200.0,) * 2)
    writer.write(3000)
    assert not other.exists()
    assert writer.kept() == [0, 1, 2]


def test_an_entry_that_another_process_removes_meanwhile_does_not_matter(folder, monkeypatch):
    writer, unlink = Writer(folder), os.unlink
    for _ in range(3):
        writer.write(3000)

    def removed_twice(path, **options):
        unlink(path, **options)
        unlink(path, **options)

    monkeypatch.setattr(cache.os, "unlink", removed_twice)
    writer.write(6000)
    assert writer.kept() == [2, 3]
