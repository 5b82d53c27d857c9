"""All commands, files and scripts of the tutorial, in their order."""

import os
import re
import shutil
from pathlib import Path

import pytest
from sources import ROOT

from robot_cell_planner.commands.main import main

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the descriptions of the tutorial."""
    for path in (ROOT / "urdf").glob("*.xacro"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_tutorial_leads_to_a_pick_and_place(folder, capsys):
    blocks = BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    assert {language for language, _ in blocks} == {"bash", "yaml", "python"}
    for language, text in blocks:
        if language == "yaml":
            cell = folder / "my_cell" / "cell.yaml"
            cell.write_text(cell.read_text(encoding="utf-8") + text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, "pick.py", "exec"), {"__name__": "__main__"})
        for line in text.splitlines() if language == "bash" else ():
            program, *words = line.split()
            assert program == "robot_cell"
            if words[0] != "up":  # test/nodes/bringup starts it
                assert main(words) == 0, line
    output = capsys.readouterr().out
    assert "0 errors, 0 warnings" in output
    assert float(re.search(r"the part is ([\d.]+) mm from its goal", output)[1]) < 1.0
    assert {"cell.html", "plan.html", "plan.json", "replay.html"} <= {path.name for path in Path(os.curdir).iterdir()}
