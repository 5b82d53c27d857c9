"""No damage of a journal is ignored: all acknowledged changes are restored, or an error names file and location.

JOURNAL_DAMAGES is the number of damages of each kind for a file of each size.
"""

import os
import random

import pytest
from reference import reference_world_pose, small_cell

from robot_cell_planner.errors import JournalError
from robot_cell_planner.io.common.serialisation import to_json
from robot_cell_planner.scene.history import SceneHistory
from robot_cell_planner.scene.journal import Journal
from robot_cell_planner.scene.state_changes import Move

DAMAGES = int(os.environ.get("JOURNAL_DAMAGES", "8"))
SIZES = {"one record": (0, 1000), "few records": (3, 1000), "many records": (60, 1000), "compacted": (24, 10)}


def lines_of(content):
    return content.splitlines(keepends=True)


def flip(content, rng):
    damaged = bytearray(content)
    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def flip_in_last_line(content, rng):
    lines = lines_of(content)
    return b"".join(lines[:-1]) + flip(lines[-1], rng)


def flip_many(content, rng):
    for _ in range(rng.randint(2, 40)):
        content = flip(content, rng)
    return content


def cut(content, rng):
    return content[: rng.randrange(len(content))]


def cut_at_a_line(content, rng):
    lines = lines_of(content)
    return b"".join(lines[: rng.randrange(len(lines))])


def duplicate(content, rng):
    lines = lines_of(content)
    lines.insert(rng.randint(0, len(lines)), rng.choice(lines))
    return b"".join(lines)


def delete(content, rng):
    lines = lines_of(content)
    del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def swap(content, rng):
    lines = lines_of(content)
    a, b = rng.sample(range(len(lines)), 2)
    lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


def insert_garbage(content, rng):
    at = rng.randint(0, len(content))
    return content[:at] + rng.randbytes(rng.randint(1, 300)) + content[at:]


def append_garbage(content, rng):
    return content + rng.randbytes(rng.randint(1, 300)) + rng.choice([b"", b"\n"])


def zeros(content, rng):
    """A block that was never written to the disk."""
    start = rng.randrange(len(content))
    end = min(len(content), start + rng.randint(1, 4096))
    return content[:start] + bytes(end - start) + content[end:]


def zeros_at_the_end(content, rng):
    start = rng.randrange(len(content))
    return content[:start] + bytes(len(content) - start)


def zeros_after_the_end(content, rng):
    return content + bytes(rng.randint(1, 4096))


def empty(content, rng):
    return b""


def another_file(content, rng):
    cell, state = small_cell()
    return rng.choice(
        [
            b"a letter\n",
            b"no newline",
            b"\n",
            to_json(cell),
            to_json(state) + b"\n",
            rng.randbytes(rng.randint(1, 5000)),
            bytes(rng.randint(1, 5000)),
            content.split(b" ", 2)[2],
            content.replace(b"journal/3", b"journal/2"),
            b"".join(lines_of(content)[1:]),
        ]
    )


KINDS = (
    flip,
    flip_in_last_line,
    flip_many,
    cut,
    cut_at_a_line,
    duplicate,
    delete,
    swap,
    insert_garbage,
    append_garbage,
    zeros,
    zeros_at_the_end,
    zeros_after_the_end,
    empty,
    another_file,
)


@pytest.fixture(scope="module", params=list(SIZES))
def acknowledged(request, tmp_path_factory):
    """A journal's content, with the latest scene and revision that were acknowledged."""
    path = tmp_path_factory.mktemp("journal") / "scene.journal"
    changes, compact_after = SIZES[request.param]
    with Journal(path, compact_after=compact_after) as journal:
        owner = SceneHistory(reference_world_pose, journal)
        owner.load(*small_cell())
        for step in range(changes):
            owner.apply([Move("part", (0.1 * step, 1.0 / 3.0, 0.0))])
    return path.read_bytes(), owner.scene, owner.revision


def opened(path):
    """The content of a journal, or None and the reason of its refusal."""
    try:
        with Journal(path) as journal:
            return journal.restored, ""
    except JournalError as error:
        return None, error.message


@pytest.mark.parametrize("damage", KINDS, ids=lambda kind: kind.__name__)
def test_damage_is_reported_or_harmless(tmp_path, acknowledged, damage):
    content, scene, revision = acknowledged
    path, rng = tmp_path / "scene.journal", random.Random(f"{damage.__name__} {len(content)}")
    refused = 0
    for _ in range(DAMAGES):
        damaged = damage(content, rng)
        path.write_bytes(damaged)
        found, refusal = opened(path)
        if found is None:
            refused += 1
            assert str(path) in refusal
            assert "line" in refusal or "is empty" in refusal
        else:
            assert (found.scene, found.revision) == (scene, revision)
        assert path.read_bytes() == damaged
        assert list(tmp_path.iterdir()) == [path]
    harmless = damage in (append_garbage, zeros_after_the_end, insert_garbage, zeros)
    assert refused or harmless
