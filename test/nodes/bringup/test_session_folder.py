"""Folders of sessions that were killed are removed by the next one; those in use, and those of others, are not."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from robot_cell_planner.nodes.bringup.session_folder import JOURNAL, OWNER, SessionFolder, remove_unused, session_folder
from robot_cell_planner.scene.journal_files import open_locked

SESSION = """
import sys
from robot_cell_planner.nodes.bringup.session_folder import SessionFolder
print(SessionFolder().path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def parent(tmp_path, monkeypatch):
    """The folder for temporary files, also of processes that are started."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def session():
    """A running session, and its folder."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SESSION], **pipes) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def killed(session):
    """The folder of a session after its process was killed, with a journal."""
    process, folder = session
    process.send_signal(signal.SIGKILL)
    process.wait()
    (folder / JOURNAL).write_text("robot_cell_journal/3")
    return folder


def test_the_folder_of_a_session_is_there_until_its_end(parent):
    with session_folder() as folder:
        (folder / JOURNAL).touch()
        assert list(parent.iterdir()) == [folder]
        assert folder.stat().st_mode & 0o077 == 0
    assert list(parent.iterdir()) == []


def test_the_folder_of_a_killed_session_is_removed_by_the_next_one(session, parent):
    folder = killed(session)
    (folder / f".{JOURNAL}-new").touch()
    (folder / f"{JOURNAL}.previous").touch()
    assert list(parent.iterdir()) == [folder]
    with session_folder() as own:
        assert list(parent.iterdir()) == [own]


def test_the_folder_of_a_running_session_stays(session, parent):
    process, folder = session
    remove_unused(parent)
    assert process.poll() is None
    assert (folder / OWNER).exists()


def test_the_own_folder_stays(parent):
    own = SessionFolder()
    remove_unused(parent)
    assert (own.path / OWNER).exists()
    own.remove()


def test_a_journal_that_a_scene_node_still_writes_stays(session, parent):
    folder = killed(session)
    handle = open_locked(folder / JOURNAL)
    remove_unused(parent)
    assert sorted(path.name for path in folder.iterdir()) == [OWNER, JOURNAL]
    os.close(handle)
    remove_unused(parent)
    assert not folder.exists()


def test_a_folder_with_other_files_stays(session, parent):
    folder = killed(session)
    (folder / "notes.txt").touch()
    remove_unused(parent)
    assert len(list(folder.iterdir())) == 3


def test_a_folder_without_the_lock_of_a_session_stays(parent):
    """Of an earlier version, of a session that begins, or of somebody else."""
    folder = parent / "robot_cell_abc"
    folder.mkdir()
    (folder / JOURNAL).touch()
    remove_unused(parent)
    assert (folder / JOURNAL).exists()


def test_nothing_is_removed_through_links(session, parent):
    folder = killed(session)
    moved = folder.rename(parent / "elsewhere")
    (parent / "robot_cell_link").symlink_to(moved)
    remove_unused(parent)
    assert (moved / JOURNAL).exists()
    target = parent / "target"
    target.write_text("kept")
    (moved / JOURNAL).unlink()
    (moved / JOURNAL).symlink_to(target)
    moved.rename(folder)
    remove_unused(parent)
    assert target.read_text() == "kept"
    assert (folder / OWNER).exists()


def test_folders_of_other_users_stay(session, parent, monkeypatch):
    folder = killed(session)
    monkeypatch.setattr(os, "getuid", lambda: os.stat(parent).st_uid + 1)
    remove_unused(parent)
    assert (folder / JOURNAL).exists()
