"""Files, sections and tests that are named in the documentation exist."""

import re

import pytest
from sources import PACKAGE, ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
INTERFACE_FILES = [path for kind in ("msg", "srv", "action") for path in sorted((ROOT / kind).iterdir())]
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|msg|srv|action|yaml|xml|xacro|urdf|srdf|json))`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
SECTION = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")
TEST = re.compile(r"`(test_\w+(?:\.py)?|Test\w+)`")
TESTS = sorted((ROOT / "test").rglob("*.py"))
TAG = re.compile(r"(?<!\\)<(?!https?:|!--)/?[A-Za-z][^>]*>")
CODE = re.compile(r"`[^`\n]*`")
INTERFACE = re.compile(
    r"(?<![\w/.<>-])/?((?:scene|kinematics|collision|planning|execution|simulation|servo|servo_node|sensors)/[a-z_]+)"
    r"(?![\w/.(])"
)
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


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


def anchors(text):
    """The anchors that GitHub and the site give to headings: lower case, words joined by hyphens."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings)
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in plain}


def missing_sections(document):
    """Links of a document to headings that do not exist."""
    links = SECTION.findall(BLOCK.sub("", document.read_text(encoding="utf-8")))
    targets = {(path, document.parent / path if path else document, anchor) for path, anchor in links}
    pages = [each for each in targets if each[1].suffix == ".md"]
    return [f"{path}#{anchor}" for path, page, anchor in pages if anchor not in anchors(page.read_text("utf-8"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_linked_sections_exist(document):
    assert missing_sections(document) == []


def unknown_interfaces(text):
    """Topics, services and actions in a text that docs/interfaces.md does not list; folders of the package are none."""
    listed = set(re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/interfaces.md").read_text("utf-8"), re.MULTILINE))
    return sorted(name for name in set(INTERFACE.findall(text)) - listed if not (ROOT / PACKAGE / name).is_dir())


@pytest.mark.parametrize("document", [*DOCUMENTS, *INTERFACE_FILES], ids=lambda path: path.name)
def test_named_interfaces_exist(document):
    assert unknown_interfaces(document.read_text(encoding="utf-8")) == []


def test_an_unknown_interface_is_found():
    text = "`scene/apply_changes`, /scene/apply_change, planning/workers, nodes/scene/node.py and planning/plan_path"
    assert unknown_interfaces(text) == ["planning/plan_path", "scene/apply_change"]


def tags(text):
    """What reads as a tag of HTML outside of code, which no reader sees."""
    return TAG.findall(CODE.sub("", BLOCK.sub("", text)))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_text_reads_as_html(document):
    assert tags(document.read_text(encoding="utf-8")) == []


def test_a_tag_is_found():
    assert tags("a <tool>/\\<joint>, `<link>`, <https://a.b> and\n```\n<a>\n```\n") == ["<tool>"]


@pytest.fixture(scope="module")
def tests():
    """The names of all tests, and of their files."""
    texts = "\n".join(path.read_text(encoding="utf-8") for path in TESTS)
    return {path.name for path in TESTS} | set(re.findall(r"^ *(?:async )?(?:def|class) (\w+)", texts, re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_tests_exist(document, tests):
    assert [name for name in TEST.findall(document.read_text(encoding="utf-8")) if name not in tests] == []


def test_a_missing_test_is_reported(tests):
    text = "see `test_nothing_of_this_name`, `test_nothing.py`, `test_missing_sections` and `test_documentation.py`"
    assert [name for name in TEST.findall(text) if name not in tests] == [
        "test_nothing_of_this_name",
        "test_nothing.py",
        "test_missing_sections",
    ]


def test_a_missing_section_is_reported(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Two words\n[a](#two-words) [b](#two) [c](page.md#three)\n```\n# two\n```\n", encoding="utf-8")
    assert sorted(missing_sections(page)) == ["#two", "page.md#three"]


def test_a_missing_file_is_reported():
    assert FILE.findall("see `cell/nowhere.py`") == ["cell/nowhere.py"]
    assert not exists("cell/nowhere.py", ROOT / "README.md")
