"""The report of `make lock`."""

import importlib.util

from sources import ROOT

SPEC = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
lock = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lock)


def test_all_pins_of_this_repository_are_read():
    for path in (ROOT / "requirements").rglob("constraints.txt"):
        text = path.read_text(encoding="utf-8")
        assert len(lock.versions(text)) == sum("==" in line for line in text.splitlines()) > 50


def test_added_changed_and_removed_pins_are_named():
    before = lock.versions("a==1.0\nb==2 ; python_full_version < '3.11'\nb==3 ; python_full_version >= '3.11'\nc==4\n")
    after = lock.versions("a==1.0\nb==2 ; python_full_version < '3.11'\nb==5 ; python_full_version >= '3.11'\nd==6\n")
    assert lock.differences(before, after) == [
        "  b ; python_full_version >= '3.11': 3 -> 5",
        "  c: 4 -> removed",
        "  d: not there -> 6",
    ]
    assert lock.differences(after, after) == []
