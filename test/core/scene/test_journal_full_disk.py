"""A disk that is full at any byte: acknowledged changes are restored, refused ones never appear.

JOURNAL_FULL_DISKS is the number of repetitions.
"""

import os
import random
import resource
import subprocess
from contextlib import contextmanager

import pytest
from reference import reference_world_pose, small_cell

from robot_cell_planner.errors import JournalError
from robot_cell_planner.scene import journal as journal_module
from robot_cell_planner.scene.history import SceneHistory
from robot_cell_planner.scene.journal import Journal
from robot_cell_planner.scene.state_changes import Move

TIMES = int(os.environ.get("JOURNAL_FULL_DISKS", "20"))


@contextmanager
def largest_file(limit):
    """The kernel limits files of this process to `limit` bytes, also within a single write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def opened(path, compact_after):
    journal = Journal(path, compact_after=compact_after)
    owner = SceneHistory(reference_world_pose, journal)
    if journal.restored is None:
        owner.load(*small_cell())
    else:
        owner.restore(journal.restored.scene, journal.restored.revision, journal.restored.cell_revision)
    return owner, journal


def change_until_refused(owner, rng):
    """The number of refused changes."""
    refused = 0
    for _ in range(200):
        before = (owner.scene, owner.revision, owner.cell_revision)
        try:
            owner.apply([Move("part", (rng.random(), rng.random(), 0.0))])
        except JournalError:
            refused += 1
            assert (owner.scene, owner.revision, owner.cell_revision) == before
            if refused == 3:
                return refused
    return refused


def check(path, owner):
    with Journal(path) as again:
        found = again.restored
        assert (found.scene, found.revision, found.cell_revision) == (owner.scene, owner.revision, owner.cell_revision)
        assert again.warning == ""


@pytest.mark.parametrize("compact_after", [7, 1000])
@pytest.mark.parametrize("fsync", [False, True])
def test_a_file_that_cannot_grow_loses_nothing(tmp_path, compact_after, fsync):
    path, rng = tmp_path / "scene.journal", random.Random(compact_after)
    owner, journal = opened(path, compact_after)
    refused = 0
    for _ in range(TIMES):
        journal._fsync = fsync
        with largest_file(path.stat().st_size + rng.randint(0, 1500)):
            refused += change_until_refused(owner, rng)
        assert not journal.broken
        journal.close()
        check(path, owner)
        owner, journal = opened(path, compact_after)
        owner.apply([Move("part", (rng.random(), rng.random(), 0.0))])
        assert not list(tmp_path.glob(".*"))  # no part of a compaction
    journal.close()
    check(path, owner)
    assert refused  # a compaction may have made room, but not always


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("compact_after", [7, 1000])
def test_a_full_disk_loses_nothing(small_disk, compact_after):
    path, filler, rng = small_disk / "scene.journal", small_disk / "filler", random.Random(compact_after)
    owner, journal = opened(path, compact_after)
    refused = 0
    for _ in range(TIMES):
        room = os.statvfs(small_disk)
        filler.write_bytes(bytes(max(0, room.f_bavail - rng.randint(0, 3)) * room.f_bsize))
        refused += change_until_refused(owner, rng)
        assert not journal.broken
        journal.close()
        check(path, owner)
        filler.unlink()
        owner, journal = opened(path, compact_after=7)
        for _ in range(8):  # compacted, so that the journal alone does not fill the disk
            owner.apply([Move("part", (rng.random(), rng.random(), 0.0))])
        journal.close()
        owner, journal = opened(path, compact_after)
    journal.close()
    check(path, owner)
    assert refused


def test_a_change_that_cannot_be_taken_back_ends_the_journal(tmp_path, monkeypatch):
    path, rng = tmp_path / "scene.journal", random.Random(3)
    owner, journal = opened(path, 1000)

    def no_truncate(handle, length):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(journal_module.os, "ftruncate", no_truncate)
        with largest_file(path.stat().st_size + 100), pytest.raises(JournalError, match="File too large"):
            owner.apply([Move("part", (rng.random(), 0.0, 0.0))])
    for _ in range(3):  # although there is space again
        with pytest.raises(JournalError, match=r"a change could not be written .File too large.* opened anew"):
            owner.apply([Move("part", (rng.random(), 0.0, 0.0))])
    journal.close()
    again, journal = opened(path, 1000)
    assert (again.scene, again.revision) == (owner.scene, owner.revision)
    again.apply([Move("part", (rng.random(), 0.0, 0.0))])
    journal.close()
    check(path, again)


def test_a_failure_of_fsync_is_a_refused_change(tmp_path, monkeypatch):
    path, rng = tmp_path / "scene.journal", random.Random(3)
    owner, journal = opened(path, 1000)
    journal._fsync = True
    calls = []

    def fails_once(handle):
        calls.append(handle)
        if len(calls) == 1:
            raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(journal_module.os, "fsync", fails_once)
        with pytest.raises(JournalError, match="Input/output error"):
            owner.apply([Move("part", (rng.random(), 0.0, 0.0))])
    journal.close()
    check(path, owner)
