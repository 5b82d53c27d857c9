"""Files with a user's cell are readable by that user only, for any umask."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from loaded_cells import loaded
from reference import small_cell

from robot_cell_planner.cases import save_case
from robot_cell_planner.errors import FileError, PlanningError
from robot_cell_planner.errors.remedies import MISSING_FILE
from robot_cell_planner.io.cell_file.cell_file import save_cell, save_state
from robot_cell_planner.io.mesh.cache import ENVIRONMENT, write_cached
from robot_cell_planner.planning.problem.request import Goals, MotionRequest
from robot_cell_planner.system import private_files
from robot_cell_planner.system.private_files import fresh_folder, make_folder, write_private_text
from robot_cell_planner.viewer import Recorder, write_html


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder):
    """Mode of each file and folder below a folder."""
    return {path.relative_to(folder).as_posix(): path.stat().st_mode & 0o777 for path in folder.rglob("*")}


def test_replays_are_private(tmp_path):
    cell, state = small_cell()
    recorder = Recorder()
    recorder.add(0.0, state)
    write_html(tmp_path / "new" / "folder" / "replay.html", cell, recorder.recording())
    assert modes(tmp_path) == {"new": 0o700, "new/folder": 0o700, "new/folder/replay.html": 0o600}


def test_folders_of_outputs_are_named_in_a_warning_if_they_are_created(tmp_path, caplog):
    cell, state = small_cell()
    recorder = Recorder()
    recorder.add(0.0, state)
    for _ in range(2):
        write_html(tmp_path / "new" / "folder" / "replay.html", cell, recorder.recording())
    assert caplog.messages == [f"the folder {tmp_path}/new/folder did not exist and is created"]


def test_no_folder_of_an_output_is_created_in_the_root_of_the_file_system(monkeypatch):
    made = []
    monkeypatch.setattr(private_files, "make_folder", made.append)
    cell, state = small_cell()
    recorder = Recorder()
    recorder.add(0.0, state)
    for write in (
        lambda: write_html("/no_such_folder/replay.html", cell, recorder.recording()),
        lambda: save_case(
            "/no_such_folder/deep/case.zip",
            cell,
            state,
            MotionRequest(Goals(named_states=("up",))),
            PlanningError("none"),
        ),
    ):
        with pytest.raises(FileError, match="No such file or directory") as caught:
            write()
        assert caught.value.remedy == MISSING_FILE
    assert made == []


def test_saved_cells_and_states_are_private_and_keep_an_existing_mode(tmp_path):
    cell, state = loaded()
    cell_file, state_file = tmp_path / "cell.yaml", tmp_path / "state.yaml"
    save_cell(str(cell_file), cell, state)
    save_state(str(state_file), state)
    assert modes(tmp_path) == {"cell.yaml": 0o600, "state.yaml": 0o600}
    cell_file.chmod(0o664)
    save_cell(str(cell_file), cell, state, overwrite=True)
    assert modes(tmp_path)["cell.yaml"] == 0o664


def test_cached_meshes_are_private(tmp_path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "cache"))
    write_cached("0" * 64, "hull", np.zeros((3, 3)), np.zeros((1, 3), dtype=np.int32))
    assert set(modes(tmp_path).values()) == {0o700, 0o600}


def test_a_file_that_others_could_read_becomes_private_when_it_is_written_over(tmp_path):
    path = tmp_path / "record.json"
    path.write_text("a longer text")
    path.chmod(0o644)
    write_private_text(path, "text")
    assert (path.read_text(), modes(tmp_path)) == ("text", {"record.json": 0o600})


def test_existing_folders_keep_their_mode(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    assert make_folder(tmp_path / "open" / "a" / "b").is_dir()
    assert modes(tmp_path) == {"open": 0o755, "open/a": 0o700, "open/a/b": 0o700}


def test_each_run_gets_a_folder_of_its_own(tmp_path):
    """Also if several choose one at once, and whatever has the name already."""
    (tmp_path / "record_3").write_text("a file")
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: fresh_folder(tmp_path / "record"), range(32)))
    numbers = [1, 2, *range(4, 34)]
    assert sorted(found) == sorted(tmp_path / ("record" if n == 1 else f"record_{n}") for n in numbers)
    assert fresh_folder(tmp_path / "other" / "record") == tmp_path / "other" / "record"
