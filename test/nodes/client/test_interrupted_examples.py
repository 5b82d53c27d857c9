"""Ctrl-C ends a demonstration with one line instead of a traceback."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


class Interrupted:
    """A client whose user presses Ctrl-C at the first call."""

    def __init__(self, name):
        self.closed = False

    def __enter__(self):
        return self

    def __exit__(self, kind, error, where):
        self.closed = True

    def __getattr__(self, name):
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["pick_and_place", "hand_over"])
def test_an_interrupted_demonstration_says_so_in_one_line(name, monkeypatch, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location(f"interrupted_{name}", EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "CellClient", Interrupted)
    monkeypatch.setattr(sys, "argv", [name, "--output", str(tmp_path)])
    assert example.main() == 130
    assert capsys.readouterr().err == f"{name}: interrupted\n"
