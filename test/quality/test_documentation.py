"""Files that are named in the documentation exist."""

import re

import pytest
from sources import PACKAGE, ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|msg|srv|action|yaml|xml|xacro|urdf|srdf|json))`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def exists(name, document):
    """A path is relative to the root, the package, one of its folders, the policies, or the document."""
    package = ROOT / PACKAGE
    folders = [
        ROOT,
        package,
        ROOT / "config/security",
        document.parent,
        *(path for path in package.iterdir() if path.is_dir()),
    ]
    return any((folder / name).exists() for folder in folders)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_files_exist(document):
    text = document.read_text(encoding="utf-8")
    missing = [name for name in FILE.findall(text) if "*" not in name and not exists(name, document)]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_linked_files_exist(document):
    text = document.read_text(encoding="utf-8")
    assert [link for link in LINK.findall(text) if not (document.parent / link).exists()] == []


def test_a_missing_file_is_reported():
    assert FILE.findall("see `cell/nowhere.py`") == ["cell/nowhere.py"]
    assert not exists("cell/nowhere.py", ROOT / "README.md")
