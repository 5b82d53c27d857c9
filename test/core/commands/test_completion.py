"""Shell completion: the script for the shell, and the candidates for the next word."""

import pytest

from robot_cell_planner.commands.main import main


@pytest.fixture
def completed(monkeypatch, capsys):
    """A function that completes the last of some words, called as bash calls it."""

    def complete(*words):
        monkeypatch.setenv("_ROBOT_CELL_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("robot_cell", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit) as end:
            main([])
        assert end.value.code == 0
        return {line.partition(",")[2] for line in capsys.readouterr().out.splitlines()}

    return complete


def test_script(monkeypatch, capsys):
    monkeypatch.setenv("_ROBOT_CELL_COMPLETE", "bash_source")
    with pytest.raises(SystemExit):
        main([])
    assert "complete -o nosort -F _robot_cell_completion robot_cell" in capsys.readouterr().out


def test_commands_options_and_choices(completed):
    assert {"reach", "record", "reproduce"} <= completed("re")
    assert "--planner" in completed("plan", "--pl")
    assert completed("new", "--meshes", "h") == {"hull"}
