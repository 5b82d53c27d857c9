"""The journal restores all acknowledged changes, tolerates a truncated end, and refuses other damage."""

import os
import random
import signal
import zlib

import pytest
from reference import reference_world_pose, small_cell

from robot_cell_planner.errors import JournalError
from robot_cell_planner.scene.history import SceneHistory
from robot_cell_planner.scene.journal import FORMAT, Journal
from robot_cell_planner.scene.model_changes import Remove
from robot_cell_planner.scene.state_changes import Move

KILLS = int(os.environ.get("JOURNAL_KILLS", "100"))


def owned(path, compact_after=1000):
    journal = Journal(path, compact_after=compact_after)
    owner = SceneHistory(reference_world_pose, journal)
    if journal.restored is None:
        owner.load(*small_cell())
    else:
        owner.restore(journal.restored.scene, journal.restored.revision, journal.restored.cell_revision)
    return owner, journal


@pytest.mark.parametrize("compact_after", [3, 4, 1000])
def test_a_journal_restores_scene_and_revision(tmp_path, compact_after):
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


def test_a_truncated_record_is_ignored(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path)
    for step in range(3):
        owner.apply([Move("part", (0.1 * step, 0.0, 0.0))])
    before = path.read_bytes()
    scene, revision = owner.scene, owner.revision
    owner.apply([Move("part", (0.5, 0.0, 0.0))])
    journal.close()
    record = path.read_bytes()[len(before) :]
    for cut in range(1, len(record), 7):
        path.write_bytes(before + record[:cut])
        again, torn = owned(path)
        assert (again.scene, again.revision) == (scene, revision)
        assert "the last line is incomplete" in torn.warning
        assert path.read_bytes() == before + record[:cut]  # opening writes nothing
        again.apply([Move("part", (0.6, 0.0, 0.0))])
        torn.close()
        assert path.with_name("scene.journal.previous").read_bytes() == before + record[:cut]
        with Journal(path) as whole:
            assert (whole.restored.scene, whole.restored.revision) == (again.scene, revision + 1)


def test_a_complete_record_without_acknowledgement_is_restored(tmp_path):
    """The process is killed between record and header: the complete change is restored, though not acknowledged."""
    path = tmp_path / "scene.journal"
    owner, journal = owned(path)
    header = path.read_bytes().splitlines(keepends=True)[0]
    owner.apply([Move("part", (0.5, 0.0, 0.0))])
    journal.close()
    path.write_bytes(header + path.read_bytes()[len(header) :])
    with Journal(path) as again:
        assert (again.restored.scene, again.restored.revision) == (owner.scene, 2)


def test_damage_is_named_with_its_line(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path)
    owner.apply([Move("part", (0.1, 0.0, 0.0))])
    owner.apply([Move("part", (0.2, 0.0, 0.0))])
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines[1:], start=2):
        damaged = [*lines]
        damaged[number - 1] = line.replace(b"part", b"port", 1)
        path.write_bytes(b"".join(damaged))
        with pytest.raises(JournalError, match=f"scene.journal, line {number}: damaged"):
            Journal(path)
    path.write_bytes(lines[0] + lines[1] + lines[3])
    with pytest.raises(JournalError, match="line 3: revision 3 follows 2, but the file has revision 1"):
        Journal(path)
    path.write_bytes(lines[0] + lines[1] + lines[2])
    with pytest.raises(JournalError, match="ends after line 3, at revision 2, but revision 3 was acknowledged"):
        Journal(path)
    path.write_bytes(lines[0] + lines[1] + lines[2] + lines[3][:-1])
    with pytest.raises(JournalError, match="line 4 is cut short, at revision 2, but revision 3 was acknowledged"):
        Journal(path)


def test_a_damaged_journal_is_repaired_on_request_alone_and_kept(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path)
    owner.apply([Move("part", (0.1, 0.0, 0.0))])
    scene = owner.scene
    owner.apply([Move("part", (0.2, 0.0, 0.0))])
    journal.close()
    for name in ("scene.journal.damaged", "scene.journal.damaged.2"):
        content = path.read_bytes()
        lines = content.splitlines(keepends=True)
        lines[-1] = lines[-1].replace(b"1", b"2", 1)
        damaged = b"".join(lines)
        path.write_bytes(damaged)
        with pytest.raises(JournalError, match=f"line {len(lines)}: .* continues from revision 2"):
            Journal(path)
        with Journal(path, repair=True) as repaired:
            assert (repaired.restored.scene, repaired.restored.revision) == (scene, 2)
            assert f"line {len(lines)}: " in repaired.warning
            assert name in repaired.warning
        assert (tmp_path / name).read_bytes() == damaged
        again, journal = owned(path)
        assert (again.scene, again.revision, journal.warning) == (scene, 2, "")
        again.apply([Move("part", (0.3, 0.0, 0.0))])
        journal.close()


def test_the_file_before_a_compaction_is_kept(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path, compact_after=4)
    for step in range(3):
        owner.apply([Move("part", (0.1 * step, 0.0, 0.0))])
    journal.close()
    previous = path.with_name("scene.journal.previous")
    assert (path.read_bytes().count(b"\n"), previous.read_bytes().count(b"\n")) == (2, 5)
    with Journal(path) as now, Journal(previous) as before:
        assert now.restored == before.restored
    path.unlink()
    with pytest.raises(JournalError, match=r"scene\.journal is missing, but .*scene.journal.previous.* exists"):
        Journal(path)


def test_files_of_a_killed_compaction_are_removed(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path, compact_after=3)
    (tmp_path / ".scene.journal-new").write_bytes(path.read_bytes()[:60])
    os.link(path, tmp_path / ".scene.journal-kept")
    for step in range(4):
        owner.apply([Move("part", (0.1 * step, 0.0, 0.0))])
    journal.close()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["scene.journal", "scene.journal.previous"]
    with Journal(path) as again:
        assert again.restored.scene == owner.scene


def test_a_foreign_file_where_a_compaction_writes_stays(tmp_path):
    path, foreign = tmp_path / "scene.journal", tmp_path / ".scene.journal-new"
    owner, journal = owned(path, compact_after=3)
    foreign.write_text("a letter")
    for step in range(4):
        owner.apply([Move("part", (0.1 * step, 0.0, 0.0))])
    journal.close()
    assert foreign.read_text() == "a letter"
    with Journal(path) as again:
        assert again.restored.scene == owner.scene


def test_files_that_are_not_journals_are_never_overwritten(tmp_path):
    path = tmp_path / "scene.journal"
    previous = path.with_name("scene.journal.previous")
    previous.write_text("a letter")
    path_of_first = tmp_path / "first.journal"
    owned(path_of_first)[1].close()
    path.write_bytes(path_of_first.read_bytes())
    owner, journal = owned(path, compact_after=2)
    owner.apply([Move("part", (0.1, 0.0, 0.0))])
    journal.close()
    assert previous.read_text() == "a letter"
    with Journal(path) as again:
        assert again.restored.scene == owner.scene


def test_a_journal_of_another_format_is_refused_with_the_format(tmp_path):
    path = tmp_path / "scene.journal"
    owned(path)[1].close()
    content = path.read_bytes()
    for other in (2, 4):
        path.write_bytes(content.replace(FORMAT.encode(), b"robot_cell_journal/%d" % other))
        expected = rf"line 1: format is 'robot_cell_journal/{other}', expected 'robot_cell_journal/3'"
        with pytest.raises(JournalError, match=expected):
            Journal(path)
    _, _, text = content.splitlines()[1].partition(b" ")  # formats 1 and 2 had no header
    text = text.replace(FORMAT.encode(), b"robot_cell_journal/2")
    path.write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))
    with pytest.raises(
        JournalError, match=r"line 1: format is 'robot_cell_journal/2', expected 'robot_cell_journal/3'"
    ):
        Journal(path)


def test_a_journal_that_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(JournalError, match="folder"):
        Journal(tmp_path / "folder")


def test_a_journal_is_readable_by_its_owner_only(tmp_path):
    """Mode 0600 in folders of 0700, whatever the umask is, after a compaction too."""
    path = tmp_path / "new" / "folder" / "scene.journal"
    before = os.umask(0)
    try:
        owner, journal = owned(path, compact_after=3)
        for step in range(4):
            owner.apply([Move("part", (0.1 * step, 0.0, 0.0))])
        journal.close()
    finally:
        os.umask(before)
    assert {name.name for name in path.parent.iterdir()} == {"scene.journal", "scene.journal.previous"}
    assert {name.stat().st_mode & 0o777 for name in path.parent.iterdir()} == {0o600}
    assert {folder.stat().st_mode & 0o777 for folder in (path.parent, path.parent.parent)} == {0o700}


def test_one_journal_is_for_one_owner(tmp_path):
    path = tmp_path / "scene.journal"
    owner, journal = owned(path, compact_after=3)
    for step in range(5):  # the file is rewritten meanwhile
        with pytest.raises(JournalError, match="open in another process"):
            Journal(path)
        owner.apply([Move("part", (0.1 * step, 0.0, 0.0))])
    journal.close()
    with Journal(path) as again:
        assert again.restored.revision == owner.revision


def write_until_killed(path, acknowledgements):
    """A separate process applies changes, and acknowledges each on a pipe after it is accepted."""
    owner, _ = owned(path, compact_after=5)
    while True:
        x = float(owner.revision)
        owner.apply([Move("part", (x, 1.0, 0.0)), Move("crate", (-x, 1.0, 0.0))])
        os.write(acknowledgements, owner.revision.to_bytes(8, "little"))


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
    expected_bytes, received = 8 * rng.randint(1, 12), b""
    while len(received) < expected_bytes and (part := os.read(reading, expected_bytes - len(received))):
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
        # At most one unacknowledged change may also be restored, and it is complete.
        assert found.revision in (acknowledged, acknowledged + 1)
        x = float(found.revision - 1)
        bodies = found.scene.state.bodies
        assert (bodies["part"].pose.position[0], bodies["crate"].pose.position[0]) == (x, -x)
        before = found.revision
