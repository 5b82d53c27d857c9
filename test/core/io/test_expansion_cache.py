"""An expansion of a xacro file is used again as long as everything that it depends on is the same."""

import os
import time

import pytest
from lxml import etree

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.mesh.cache import ENVIRONMENT
from robot_cell_planner.io.robot_description import xacro_files
from robot_cell_planner.io.robot_description.xacro_files import expansion

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
MANIFEST = "<package format='3'><name>parts</name><version>1.0.0</version></package>"


@pytest.fixture(autouse=True)
def later(tmp_path, monkeypatch):
    """All files are old enough, and the cache is empty."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.setattr(xacro_files, "now", lambda: time.time_ns() + 10_000_000_000)


@pytest.fixture
def folder(tmp_path):
    """A package with a file that reads two others."""
    folder = tmp_path / "cell"
    folder.mkdir()
    (folder / "package.xml").write_text(MANIFEST.replace("parts", "cell"))
    (folder / "part.xacro").write_text(f'{HEAD}<link name="part"/></robot>')
    (folder / "sizes.yaml").write_text("name: small")
    (folder / "cell.xacro").write_text(
        f'{HEAD}<xacro:arg name="side" default="left"/><xacro:include filename="part.xacro"/>'
        '<xacro:property name="sizes" value="${xacro.load_yaml(\'sizes.yaml\')}"/>'
        "<link name=\"$(arg side)_${sizes['name']}\"/></robot>"
    )
    return folder


class Count:
    """Number of expansions by a process."""

    def __init__(self, monkeypatch):
        self.processes, self._work = 0, xacro_files._work
        monkeypatch.setattr(xacro_files, "_work", self)

    def __call__(self, *arguments):
        self.processes += 1
        return self._work(*arguments)


@pytest.fixture
def count(monkeypatch):
    return Count(monkeypatch)


def links(path, arguments=(), roots=None):
    found = expansion(path, dict(arguments), roots or ResourceRoots())
    return [link.get("name") for link in etree.fromstring(found.text.encode()).iter("link")], found.names


def test_it_is_used_again(folder, count):
    first = links(folder / "cell.xacro")
    assert first == (["part", "left_small"], ("side",))
    assert links(folder / "cell.xacro") == first
    assert count.processes == 1
    assert links(folder / "cell.xacro", {"side": "right"})[0] == ["part", "right_small"]
    assert count.processes == 2


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("cell.xacro", "$(arg side)_", "my_", ["part", "my_small"]),
        ("part.xacro", "part", "other", ["other", "left_small"]),
        ("sizes.yaml", "small", "large", ["part", "left_large"]),
    ],
)
def test_a_file_that_has_changed_is_expanded_again(folder, count, name, old, new, expected):
    links(folder / "cell.xacro")
    status = os.stat(folder / name)
    (folder / name).write_text((folder / name).read_text().replace(old, new))
    os.utime(folder / name, ns=(status.st_atime_ns, status.st_mtime_ns))  # a file may keep its time
    assert links(folder / "cell.xacro")[0] == expected
    assert count.processes == 2


def test_a_file_that_is_missing_now_is_an_error(folder, count):
    links(folder / "cell.xacro")
    (folder / "part.xacro").unlink()
    with pytest.raises(FileError, match=r"part.xacro"):
        links(folder / "cell.xacro")
    assert count.processes == 2


def test_a_file_that_changed_a_moment_ago_is_not_stored(folder, count, monkeypatch):
    monkeypatch.setattr(xacro_files, "now", time.time_ns)
    for _ in range(2):
        links(folder / "cell.xacro")
    assert count.processes == 2


@pytest.mark.parametrize("include", ['filename="*_more.xacro"', 'filename="absent.xacro" optional="true"'])
def test_a_file_that_depends_on_which_files_there_are_is_not_stored(folder, count, include):
    path = folder / "cell.xacro"
    path.write_text(f'{HEAD}<xacro:include {include}/><link name="base"/></robot>')
    assert links(path)[0] == ["base"]
    name = "absent.xacro" if "absent" in include else "one_more.xacro"
    (folder / name).write_text(f'{HEAD}<link name="more"/></robot>')
    assert links(path)[0] == ["more", "base"]
    assert count.processes == 2


def test_a_package_in_another_place_is_read_there(folder, tmp_path, count):
    for name in ("first", "second"):
        package = tmp_path / name / "parts"
        package.mkdir(parents=True)
        (package / "package.xml").write_text(MANIFEST)
        (package / "part.xacro").write_text(f'{HEAD}<link name="{name}"/></robot>')
    # The package is not found by a search of the file: the process that expands it requests it.
    path = folder / "cell.xacro"
    path.write_text(
        f'{HEAD}<xacro:property name="package" value="parts"/>'
        '<xacro:include filename="$(find ${package})/part.xacro"/></robot>'
    )
    found = [
        links(path, roots=ResourceRoots(folders=(str(tmp_path / name),)))[0] for name in ("first", "second", "first")
    ]
    assert found == [["first"], ["second"], ["first"]]
    asked = count.processes
    (tmp_path / "first").rename(tmp_path / "third")
    assert links(path, roots=ResourceRoots(folders=(str(tmp_path / "third"),)))[0] == ["first"]
    assert count.processes > asked


def test_a_damaged_entry_is_expanded_again(folder, tmp_path, count):
    links(folder / "cell.xacro")
    (entry,) = (tmp_path / "cache").rglob("*.xacro")
    entry.write_bytes(entry.read_bytes()[:-3] + b"abc")
    assert links(folder / "cell.xacro")[0] == ["part", "left_small"]
    assert count.processes == 2
