"""The journal gives back what was acknowledged, survives a torn end, and refuses other damage."""

import os
import random
import signal
import zlib

import pytest
from reference import reference_world_pose, small_cell

from robot_cell_planner.cell.journal import FORMAT, Journal
from robot_cell_planner.cell.model_changes import Remove
from robot_cell_planner.cell.revisions import RevisionedScene
from robot_cell_planner.cell.state_changes import Move
from robot_cell_planner.errors import JournalError

KILLS = int(os.environ.get("JOURNAL_KILLS", "100"))


def owned(path, compact_after=1000):
    journal = Journal(path, compact_after=compact_after)
    owner = RevisionedScene(reference_world_pose, journal)
    if journal.restored is None:
        owner.load(*small_cell())
    else:
        owner.restore(journal.restored.scene, journal.restored.revision, journal.restored.cell_revision)
    return owner, journal


@pytest.mark.parametrize("compact_after", [3, 4, 1000])
def test_a_journal_gives_back_scene_and_revision(tmp_path, compact_after):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path, compact_after)
    for step in range(10):
        owner.apply([Move("part", (0.1 * step, 1.0 / 3.0, 0.0))])
    owner.apply([Remove("table")])
    owner.undo(3)
    journal.close()
    again, journal = owned(path, compact_after)
    assert (again.scene, again.revision, again.cell_revision) == (owner.scene, owner.revision, owner.cell_revision)
    journal.close()


def test_every_cut_of_the_end_gives_back_a_whole_revision(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path)
    scenes = {1: owner.scene}
    for step in range(3):
        owner.apply([Move("part", (0.1 * step, 0.0, 0.0))])
        scenes[owner.revision] = owner.scene
    journal.close()
    content = path.read_bytes()
    start = len(content.splitlines(keepends=True)[0])
    for cut in range(start, len(content), 7):
        path.write_bytes(content[:cut])
        with Journal(path) as torn:
            assert torn.restored.scene == scenes[torn.restored.revision]
            assert torn.restored.revision == content[:cut].count(b"\n")
        assert path.stat().st_size <= cut


def test_damage_before_the_end_is_named(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path)
    owner.apply([Move("part", (0.1, 0.0, 0.0))])
    owner.apply([Move("part", (0.2, 0.0, 0.0))])
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines[:-1], start=1):
        damaged = [*lines]
        damaged[number - 1] = line.replace(b"part", b"port", 1)
        path.write_bytes(b"".join(damaged))
        with pytest.raises(JournalError, match=f"line {number}: damaged"):
            Journal(path)
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(JournalError, match="line 2: revision 3 follows 2, but the file has revision 1"):
        Journal(path)


def test_a_journal_of_another_format_is_refused_by_its_name(tmp_path):
    path = tmp_path / "scene.journal"
    owned(path)[1].close()
    _, _, text = path.read_bytes().rstrip(b"\n").partition(b" ")
    text = text.replace(FORMAT.encode(), b"robot_cell_journal/1")
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))
    with pytest.raises(
        JournalError, match=r"line 1: format is 'robot_cell_journal/1', expected 'robot_cell_journal/2'"
    ):
        Journal(path)


def test_a_journal_that_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(JournalError, match="folder"):
        Journal(tmp_path / "folder")


def test_one_journal_is_for_one_owner(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path, compact_after=3)
    for step in range(5):  # the file is written anew meanwhile
        with pytest.raises(JournalError, match="open in another process"):
            Journal(path)
        owner.apply([Move("part", (0.1 * step, 0.0, 0.0))])
    journal.close()
    with Journal(path) as again:
        assert again.restored.revision == owner.revision


def write_until_killed(path, told):
    """A process of its own: change after change, each acknowledged on a pipe once it is accepted."""
    owner, _ = owned(path, compact_after=5)
    while True:
        x = float(owner.revision)
        owner.apply([Move("part", (x, 1.0, 0.0)), Move("crate", (-x, 1.0, 0.0))])
        os.write(told, owner.revision.to_bytes(8, "little"))


def kill_a_writer(path, rng):
    """The last revision that a writer acknowledged before it was killed at a random moment."""
    reading, telling = os.pipe()
    writer = os.fork()
    if not writer:
        try:
            write_until_killed(path, telling)
        finally:
            os._exit(1)
    os.close(telling)
    wanted, received = 8 * rng.randint(1, 12), b""
    while len(received) < wanted and (part := os.read(reading, wanted - len(received))):
        received += part
    for _ in range(rng.randint(0, 20_000)):  # somewhere within the next changes
        pass
    os.kill(writer, signal.SIGKILL)
    _, status = os.waitpid(writer, 0)
    assert os.WIFSIGNALED(status), "the writer ended by itself"
    while part := os.read(reading, 4096):
        received += part
    os.close(reading)
    return int.from_bytes(received[-8:], "little")


def test_a_kill_at_any_moment_loses_no_acknowledged_change(tmp_path):
    path, rng = tmp_path / "scene.journal", random.Random(4)
    before = 0
    for _ in range(KILLS):
        acknowledged = kill_a_writer(path, rng)
        assert acknowledged > before
        with Journal(path, compact_after=5) as journal:
            found = journal.restored
        # At most the one change that was under way may be there besides, and it is whole.
        assert found.revision in (acknowledged, acknowledged + 1)
        x = float(found.revision - 1)
        bodies = found.scene.state.bodies
        assert (bodies["part"].pose.position[0], bodies["crate"].pose.position[0]) == (x, -x)
        before = found.revision
