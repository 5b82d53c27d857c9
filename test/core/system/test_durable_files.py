"""Files that are reported as written survive a loss of power, and are replaced atomically."""

import os
import re

import pytest
import trimesh
from loaded_cells import loaded
from power_cut import Disk
from reference import small_cell

from robot_cell_planner.cases.case_file import save_case
from robot_cell_planner.errors import FileError, PlanningError
from robot_cell_planner.exchange.imported_cell import CellFolder
from robot_cell_planner.io.cell_file.cell_file import save_cell, save_state
from robot_cell_planner.io.common.resources import write_text
from robot_cell_planner.planning.problem.request import Goals, MotionRequest
from robot_cell_planner.setup_assistant import DraftOptions, NewCellOptions, new_cell
from robot_cell_planner.system.durable_files import durable_file
from robot_cell_planner.system.private_files import private_log, write_private_text
from robot_cell_planner.viewer import Recorder, write_html


@pytest.fixture
def disk(monkeypatch, tmp_path):
    return Disk(monkeypatch, tmp_path)


def page(folder):
    cell, state = small_cell()
    recorder = Recorder()
    recorder.add(0.0, state)
    write_html(folder / "new" / "replay.html", cell, recorder.recording())


def cell_file(folder):
    cell, state = loaded()
    save_cell(str(folder / "cell.yaml"), cell, state)
    save_state(str(folder / "state.yaml"), state)


def import_of_a_cell(folder):
    with CellFolder(folder / "made" / "imported") as target:
        target.write("notes/origin.txt", "from elsewhere")
        target.finish(*loaded(), ())


def case(folder):
    request = MotionRequest(Goals(joint_goals=({"turn": 0.1},)))
    save_case(folder / "new" / "a.case", *small_cell(), request, PlanningError("none"))


def new_cell_with_a_mesh(folder):
    from_elsewhere = folder.parent / f"{folder.name}_description"
    from_elsewhere.mkdir()
    trimesh.creation.box((0.1, 0.1, 0.1)).export(from_elsewhere / "box.stl")
    shape = '<collision><geometry><mesh filename="box.stl"/></geometry></collision>'
    joint = '<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>'
    links = f'<link name="base"/><link name="arm">{shape}</link>'
    (from_elsewhere / "r.urdf").write_text(f'<robot name="r">{links}{joint}</robot>')
    new_cell(from_elsewhere / "r.urdf", folder / "cell", NewCellOptions(draft=DraftOptions(samples=20)))


WRITERS = {
    "a text": lambda folder: write_private_text(folder / "new" / "folder" / "plan.json", "{}"),
    "a page": page,
    "a cell": cell_file,
    "an import": import_of_a_cell,
    "a case": case,
    "a new cell": new_cell_with_a_mesh,
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_what_is_written_survives_a_loss_of_power(tmp_path, disk, write):
    write(tmp_path)
    assert list(tmp_path.rglob("*.*"))
    assert disk.lost() == []
    assert disk.renamed_early == []


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_file_appears_only_when_it_is_complete(tmp_path, overwrite):
    path = tmp_path / "plan.json"
    with durable_file(path, 0o600, overwrite=overwrite) as file:
        file.write(b"complete")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"complete"
    assert os.listdir(tmp_path) == ["plan.json"]


def test_a_text_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    write_private_text(path, "old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["plan.json"]


def test_the_target_of_a_link_is_written_and_the_link_remains(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write_private_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_named_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="is not a regular file"):
        write_text(tmp_path / "pipe", "text", "test", overwrite=True)
    assert os.listdir(tmp_path) == ["pipe"]
    assert not (tmp_path / "pipe").is_file()


@pytest.mark.parametrize("overwrite", [True, False])
def test_errors_name_the_file_and_not_the_temporary_one(tmp_path, overwrite):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "none" / "plan.json"):
        with (
            pytest.raises(OSError, match=re.escape(f": '{path}'") + "$") as caught,
            durable_file(path, 0o600, overwrite=overwrite),
        ):
            pass
        assert caught.value.filename == str(path)
    assert os.listdir(tmp_path) == ["folder"]


def test_the_longest_names_can_be_written(tmp_path):
    name = "ä" * 127
    write_private_text(tmp_path / name, "text")
    assert os.listdir(tmp_path) == [name]


def test_a_folder_that_cannot_be_read_can_be_written_to(tmp_path, monkeypatch):
    opened = os.open

    def refused(path, flags, *others, **options):
        if flags & os.O_DIRECTORY:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *others, **options)

    monkeypatch.setattr(os, "open", refused)
    write_private_text(tmp_path / "new" / "plan.json", "{}")
    assert (tmp_path / "new" / "plan.json").read_text() == "{}"


@pytest.mark.parametrize("exists", [True, False])
def test_each_entry_of_a_log_is_on_the_disk(tmp_path, disk, exists):
    path = tmp_path / "new" / "calls.jsonl"
    if exists:
        path.parent.mkdir()
        path.write_text("before\n")
        path.chmod(0o644)
    with private_log(path) as log:
        log.write("first ä\n")
        log.flush()
        assert disk.lost() == (["new"] if exists else [])
        log.write("second\n")
    assert path.read_text() == f"{'before' if exists else ''}\nfirst ä\nsecond\n".lstrip()
    assert path.stat().st_mode & 0o777 == 0o600
    assert disk.lost() == (["new"] if exists else [])


def test_a_log_is_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe", mode=0o666)
    mode = (tmp_path / "pipe").stat().st_mode
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(OSError, match="is not a regular file"):
            private_log(tmp_path / "pipe")
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").stat().st_mode == mode


def test_a_log_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    log = private_log(tmp_path / "calls.jsonl")

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        log.write("text")
        with pytest.raises(OSError, match="No space") as caught:
            log.flush()
    assert caught.value.filename == str(tmp_path / "calls.jsonl")
    log.close()
