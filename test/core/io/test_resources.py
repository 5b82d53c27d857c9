"""Files are found through packages, roots and relative paths; files outside of them are refused."""

import os
import sys
from pathlib import Path

import pytest
from frozendict import frozendict
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robot_cell_planner.errors import FileError, InvalidValueError, LimitExceededError, ResourceError
from robot_cell_planner.io.common.resources import (
    MAX_MESH_BYTES,
    MAX_TEXT_BYTES,
    ResourceRoots,
    enclosing_folder,
    read_bytes,
    read_text,
    resolve,
    resolve_below,
    resolve_new,
    write_text,
)
from robot_cell_planner.io.mesh.loading import mesh_reference
from robot_cell_planner.io.robot_description.loading import load_robot


@pytest.fixture
def tree(tmp_path):
    """root/inner/file.txt, outside/secret.txt, and links from the root to the outside."""
    (tmp_path / "root" / "inner").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "root" / "inner" / "file.txt").write_text("inside")
    (tmp_path / "root" / "a b.txt").write_text("space")
    (tmp_path / "outside" / "secret.txt").write_text("outside")
    (tmp_path / "root" / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (tmp_path / "root" / "folder").symlink_to(tmp_path / "outside")
    (tmp_path / "root" / "loop").symlink_to(tmp_path / "root" / "loop")
    return tmp_path


@pytest.fixture
def roots(tree):
    return ResourceRoots(folders=(str(tree / "root"),))


@pytest.mark.parametrize(
    "uri",
    [
        "inner/file.txt",
        "./inner/../inner/file.txt",
        "file://{}/root/inner/file.txt",
        "{}/root/inner/file.txt",
        "package://inner/file.txt",
        "package://root/inner/file.txt",
        "model://inner/file.txt",
    ],
)
def test_all_forms_of_paths_to_one_file(tree, roots, uri):
    assert resolve(uri.format(tree), tree / "root", roots) == tree / "root" / "inner" / "file.txt"


def test_percent_signs_are_decoded_in_uris(tree, roots):
    assert read_text(resolve(f"file://{tree}/root/a%20b.txt", "", roots), "test") == "space"


@pytest.mark.parametrize(
    "uri",
    [
        "../outside/secret.txt",
        "inner/../../outside/secret.txt",
        "link.txt",
        "folder/secret.txt",
        "{}/outside/secret.txt",
        "file://{}/outside/secret.txt",
        "file://{}/root/%2e%2e/outside/secret.txt",
        "package://root/../outside/secret.txt",
        "package://inner/../../outside/secret.txt",
        "package://folder/secret.txt",
        "/etc/passwd",
        "/etc/does-not-exist",
        "package://../outside/secret.txt",
        "package://..%2Foutside/secret.txt",
        "file:///etc/passwd",
    ],
)
def test_paths_out_of_the_roots_are_refused(tree, roots, uri):
    with pytest.raises(ResourceError):
        resolve(uri.format(tree), tree / "root", roots)


def test_the_error_does_not_reveal_whether_an_outside_file_exists(tree, roots):
    messages = set()
    for name in ("secret.txt", "nothing.txt"):
        with pytest.raises(ResourceError) as caught:
            resolve(f"../outside/{name}", tree / "root", roots)
        messages.add(caught.value.message.replace(name, ""))
    assert len(messages) == 1


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "a" * 5000,
        "a\0b",
        "http://host/a",
        "ftp://a",
        "package://",
        "package:///",
        "package://no such/a",
        "inner/none.txt",
        "loop",
    ],
)
def test_malformed_and_missing(tree, roots, uri):
    with pytest.raises(ResourceError):
        resolve(uri, tree / "root", roots)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("inner/fil.txt", "; nearest: file.txt"),
        ("iner/file.txt", "; nearest folder: inner"),
        ("iner/deeper/file.txt", "; nearest folder: inner"),
        ("link.tx/file.txt", ""),  # link.txt is no folder
        ("folder/secre.txt", ""),
        ("folder/secret/file.txt", ""),
        ("../outsid/secret.txt", ""),
    ],
)
def test_similar_names_in_the_roots_are_suggested(tree, roots, uri, expected):
    with pytest.raises(ResourceError) as caught:
        resolve(uri, tree / "root", roots)
    assert caught.value.message.endswith(expected)
    assert ("nearest" in caught.value.message) == bool(expected)


def installed_packages():
    """The folders with a package.xml among the installed Python packages and in AMENT_PREFIX_PATH."""
    prefixes = [Path(entry, "cmeel.prefix") for entry in sys.path]
    prefixes += map(Path, filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)))
    return {file.parent.resolve() for prefix in prefixes for file in prefix.glob("share/*/package.xml")}


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30) | st.text("./%ae:pckgile", max_size=5000))
@example("ament_index")
@example("pinocchio")
def test_any_path_is_in_the_roots_or_an_installed_package_or_refused(tmp_path_factory, text):
    root = tmp_path_factory.getbasetemp() / "root"
    root.mkdir(exist_ok=True)
    (root / "a").write_text("")
    given_roots = ResourceRoots(folders=(str(root),))
    allowed = {root.resolve(), *installed_packages()}
    for uri in (text, f"package://{text}", f"file://{text}", f"model://root/{text}"):
        for call in (lambda uri=uri: resolve(uri, root, given_roots), lambda uri=uri: resolve_below(uri, given_roots)):
            try:
                found = call()
            except ResourceError:
                continue
            assert any(found.is_relative_to(folder) for folder in allowed)


@pytest.mark.parametrize("name", ["ament_index", "doc"])
def test_a_folder_beside_the_installed_packages_is_not_a_package(monkeypatch, tmp_path, name):
    (tmp_path / "cmeel.prefix" / "share" / name).mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ResourceError, match=f"package '{name}' was not found"):
        resolve(f"package://{name}")


@pytest.mark.parametrize("uri", ["file://$(find arm)/a.stl", "$(find arm)/a.stl", "package://${name}/a.stl"])
def test_an_expression_of_xacro_is_named_as_the_cause(roots, uri):
    with pytest.raises(ResourceError, match="expression of xacro") as caught:
        resolve(uri, "/", roots)
    assert ".xacro" in caught.value.remedy


def test_a_relative_path_needs_a_folder(roots):
    with pytest.raises(ResourceError, match="relative"):
        resolve("inner/file.txt", "", roots)


def test_extra_packages_take_precedence(tree):
    roots = ResourceRoots(packages=frozendict({"inner": str(tree / "outside")}), folders=(str(tree / "root"),))
    assert resolve("package://inner/secret.txt", "", roots) == tree / "outside" / "secret.txt"


def test_installed_packages_may_link_to_their_sources(tree, monkeypatch):
    """The links are those of `colcon build --symlink-install`."""
    prefix = tree / "install"
    share = prefix / "share" / "some_robot"
    share.mkdir(parents=True)
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "some_robot").write_text("")
    (share / "robot.urdf").symlink_to(tree / "outside" / "secret.txt")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{prefix}")
    found = resolve("package://some_robot/robot.urdf")
    assert found == tree / "outside" / "secret.txt"
    assert resolve(f"file://{share}/robot.urdf") == found
    with pytest.raises(ResourceError):
        resolve("package://some_robot/../../../outside/secret.txt")
    with pytest.raises(ResourceError):
        resolve("package://another_robot/robot.urdf")


@pytest.mark.parametrize("form", ["file://{}", "{}", "package://{}"])
def test_a_link_of_an_installed_package_does_not_open_the_folders_around_its_target(form, tree, monkeypatch):
    share = tree / "install" / "share" / "some_robot"
    share.mkdir(parents=True)
    (share / "package.xml").write_text("<package><name>some_robot</name></package>")
    (tree / "workspace" / "meshes").mkdir(parents=True)
    (tree / "workspace" / "meshes" / "a.stl").write_text("")
    (share / "meshes").symlink_to(tree / "workspace" / "meshes")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tree / "install"))
    base = form.format("some_robot" if form.startswith("package") else share)
    found = tree / "workspace" / "meshes" / "a.stl"
    assert resolve(f"{base}/meshes/a.stl") == found
    assert resolve(f"{base}/meshes/../meshes/a.stl") == found
    for below in ("../outside", "../../outside"):
        (tree / "workspace" / "outside").mkdir(exist_ok=True)
        (tree / "workspace" / "outside" / "secret.txt").write_text("")
        with pytest.raises(ResourceError):
            resolve(f"{base}/meshes/{below}/secret.txt")


def test_a_package_has_the_name_in_its_manifest(tree, roots):
    (tree / "root" / "package.xml").write_text('<?xml version="1.0"?><package><name>  my_cell </name></package>')
    assert resolve("package://my_cell/inner/file.txt", "", roots) == tree / "root" / "inner" / "file.txt"
    assert enclosing_folder(tree / "root" / "inner" / "file.txt") == tree / "root"


def test_without_a_manifest_a_file_opens_its_own_folder(tree):
    assert enclosing_folder(tree / "root" / "inner" / "file.txt") == tree / "root" / "inner"


def test_requests_name_files_below_roots_only(tree, roots):
    assert resolve_below("inner/file.txt", roots) == tree / "root" / "inner" / "file.txt"
    for uri in ("../outside/secret.txt", "/etc/passwd", "none.txt"):
        with pytest.raises(ResourceError):
            resolve_below(uri, roots)
    with pytest.raises(ResourceError):
        resolve_below("inner/file.txt", ResourceRoots())


def test_new_files_are_written_below_roots_only(tree, roots):
    assert resolve_new("inner/new.yaml", roots) == tree / "root" / "inner" / "new.yaml"
    assert resolve_new(f"file://{tree}/root/new.yaml", roots) == tree / "root" / "new.yaml"
    for uri in (
        "../outside/new.yaml",
        "folder/new.yaml",
        "none/new.yaml",
        "/tmp/new.yaml",
        "package://inner/new.yaml",
        "inner/..",
        "",
    ):
        with pytest.raises(ResourceError):
            resolve_new(uri, roots)


def test_only_regular_files_are_read(tree):
    os.mkfifo(tree / "pipe")
    for path in (tree / "root", tree / "pipe", "/dev/zero", tree / "none", "/dev/null"):
        with pytest.raises(FileError):
            read_bytes(path, "test")


def test_sizes_are_bounded(tree):
    with pytest.raises(LimitExceededError):
        read_bytes(tree / "outside" / "secret.txt", "test", limit=3)


def test_text_must_be_utf8(tree):
    (tree / "bad").write_bytes(b"one\ntwo \xff\n")
    with pytest.raises(FileError, match=r"bad:2: byte 0xff"):
        read_text(tree / "bad", "test")
    (tree / "mark").write_bytes(b"\xef\xbb\xbfa")
    assert read_text(tree / "mark", "test") == "a"


def test_writing_is_atomic(tree):
    path = tree / "new.txt"
    write_text(path, "first", "test", overwrite=False)
    with pytest.raises(FileError, match="exists"):
        write_text(path, "second", "test", overwrite=False)
    assert path.read_text() == "first"
    write_text(path, "third", "test", overwrite=True)
    with pytest.raises(FileError):
        write_text(path, "\ud800", "test", overwrite=True)
    assert path.read_text() == "third"
    with pytest.raises(FileError):
        write_text(tree / "none" / "new.txt", "text", "test", overwrite=True)
    assert sorted(entry.name for entry in tree.iterdir()) == ["new.txt", "outside", "root"]


def test_callers_set_the_bounds_of_sizes(tree):
    (tree / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tree / "arm.urdf").write_text('<robot name="arm"><link name="base"/></robot>')
    small = ResourceRoots(folders=(str(tree),), text_bytes=20, mesh_bytes=20)
    with pytest.raises(LimitExceededError, match="at most 20"):
        mesh_reference("part.obj", str(tree), small)
    with pytest.raises(LimitExceededError, match="at most 20"):
        load_robot("arm", tree / "arm.urdf", roots=small)


@pytest.mark.parametrize(("name", "most"), [("text_bytes", MAX_TEXT_BYTES), ("mesh_bytes", MAX_MESH_BYTES)])
def test_sizes_that_are_never_read_are_refused(name, most):
    assert getattr(ResourceRoots(**{name: most}), name) == most
    for value in (0, -1, most + 1):
        with pytest.raises(InvalidValueError, match=f"{name} is {value}, expected 1 to {most}"):
            ResourceRoots(**{name: value})
