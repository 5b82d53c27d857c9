"""The frame semantics of SDFormat: each rule of the specification is tested with a case computed by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sdf_documents import (
    TEXTS,
    X,
    check,
    document,
    fill,
    include,
    joint,
    link,
    options,
    read,
    world_poses,
)

from robot_cell_planner.model.pose import Pose


def test_links_are_relative_to_the_model_and_the_model_to_the_world():
    check(
        f"<model name='m'><pose>{{A}}</pose>{link('l', '<pose>{B}</pose>')}{link('k')}</model>",
        {"m": "A", "m::l": "AB", "m::k": "A"},
    )


def test_link_poses_relative_to_other_frames():
    check(
        "<model name='m'><pose>{A}</pose>"
        + link("l1", "<pose relative_to=''>{B}</pose>")
        + link("l2", "<pose relative_to='l1'>{C}</pose>")
        + link("l3", "<pose relative_to='f'>{D}</pose>")
        + link("l4", "<pose relative_to='__model__'>{D}</pose>")
        + "<frame name='f' attached_to='l2'><pose>{E}</pose></frame></model>",
        {"m::l1": "AB", "m::l2": "ABC", "m::l3": "ABCED", "m::l4": "AD"},
    )


def test_joints_are_relative_to_their_child_unless_specified_otherwise():
    check(
        "<model name='m'>"
        + link("p", "<pose>{A}</pose>")
        + link("c", "<pose>{B}</pose>")
        + joint("j", "p", "c", "<pose>{C}</pose>")
        + "<frame name='at_joint' attached_to='j'/>"
        + joint("k", "p", "d", "<pose relative_to='p'>{D}</pose>")
        + link("d", "<pose relative_to='k'>{E}</pose>")
        + "</model>",
        {"m::at_joint": "BC", "m::d": "ADE", "m::c": "B"},
    )


def test_frames_are_relative_to_their_parent_unless_specified_otherwise():
    check(
        "<model name='m'><pose>{A}</pose>" + link("l", "<pose>{B}</pose>") + "<frame name='f0'><pose>{C}</pose></frame>"
        "<frame name='f1' attached_to='l'><pose>{C}</pose></frame>"
        "<frame name='f2' attached_to='l'><pose relative_to=''>{D}</pose></frame>"
        "<frame name='f3'><pose relative_to='l'>{D}</pose></frame>"
        "<frame name='f4' attached_to='f1'><pose>{E}</pose></frame>"
        "<frame name='f5' attached_to='f1'><pose relative_to='__model__'>{E}</pose></frame></model>",
        {"m::f0": "AC", "m::f1": "ABC", "m::f2": "ABD", "m::f3": "ABD", "m::f4": "ABCE", "m::f5": "AE"},
    )


def test_a_world_of_frames_and_models():
    """The example of the specification for scopes."""
    check(
        "<world name='w'><frame name='w0'><pose>{A}</pose></frame>"
        "<frame name='w1'><pose relative_to='w0'>{B}</pose></frame>"
        "<model name='m1'><pose>{C}</pose><frame name='f'><pose>{D}</pose></frame>"
        "<link name='l'><collision name='c'><pose relative_to='f'>{E}</pose>"
        "<geometry><sphere><radius>1</radius></sphere></geometry></collision></link></model>"
        "<frame name='w2' attached_to='m1'/><frame name='w3'><pose relative_to='m1'>{E}</pose></frame>"
        "<frame name='w4' attached_to='m1::f'/><frame name='w5' attached_to='world'/>"
        f"<model name='m2'><pose relative_to='w3'>{{A}}</pose>{link('l')}</model></world>",
        {"w1": "AB", "m1": "C", "m1::l": "C", "w2": "C", "w3": "CE", "w4": "CD", "m2::l": "CEA", "w5": ""},
    )
    imported = read(
        "<model name='m'><pose>{C}</pose><frame name='f'><pose>{D}</pose></frame><link name='l'><pose>{A}</pose>"
        "<collision name='c'><pose relative_to='f'>{E}</pose><geometry><sphere><radius>1</radius></sphere></geometry>"
        "</collision></link></model>"
    )
    shape = imported.cell.bodies["m::l"].collisions[0]
    np.testing.assert_allclose(shape.pose.matrix, np.linalg.inv(X["A"]) @ X["D"] @ X["E"], atol=1e-12)


def test_attachment_and_placement_are_independent():
    """A frame on a link that is itself placed by that frame is no loop."""
    content = (
        "<model name='m'>"
        + link("l1", "<pose>{A}</pose>")
        + "<frame name='f1' attached_to='l2'><pose relative_to='l1'>{B}</pose></frame>"
        + link("l2", "<pose relative_to='f1'>{C}</pose>")
        + "</model>"
    )
    check(content, {"m::l2": "ABC", "m::f1": "AB"})
    assert read(content).cell.frames["m::f1"].attached_to == "m::l2"


def test_frames_are_attached_to_links_through_other_frames():
    imported = read(
        f"<model name='m' canonical_link='q'>{link('p')}{link('q')}"
        + joint("j", "p", "q")
        + "<frame name='f0'/><frame name='f1' attached_to='p'/><frame name='f2' attached_to='f1'/>"
        "<frame name='f3' attached_to='j'/><frame name='f4' attached_to='f3'/></model>"
    )
    attached = {name: frame.attached_to for name, frame in imported.cell.frames.items()}
    assert attached == {
        "m": "m::q",
        "m::f0": "m::q",
        "m::f1": "m::p",
        "m::f2": "m::p",
        "m::f3": "m::q",
        "m::f4": "m::q",
    }


@pytest.mark.parametrize(
    "content, canonical",
    [
        (link("a") + link("b"), "m::a"),
        (f"<model name='n'>{link('x')}</model>" + link("b"), "m::b"),
        (
            f"<model name='n'><model name='o'>{link('x')}</model></model><model name='p'>{link('y')}</model>",
            "m::n::o::x",
        ),
        ("<static>1</static><frame name='f'/>", "world"),
    ],
)
def test_the_canonical_link(content, canonical):
    assert read(f"<model name='m'>{content}</model>").cell.frames["m"].attached_to == canonical


def test_a_nested_canonical_link_by_name():
    content = f"<model name='m' canonical_link='n::x'>{link('a')}<model name='n'>{link('x')}</model></model>"
    assert read(content).cell.frames["m"].attached_to == "m::n::x"


def test_models_inside_of_models():
    check(
        "<model name='m'><pose>{A}</pose>"
        + link("l", "<pose>{B}</pose>")
        + "<model name='n'><pose relative_to='l'>{C}</pose>"
        + link("l", "<pose>{D}</pose>")
        + "<frame name='f' attached_to='l'><pose>{E}</pose></frame></model>"
        + "<model name='o'><pose>{C}</pose>"
        + link("l")
        + "</model><frame name='g' attached_to='n::f'><pose>{A}</pose></frame>"
        "<frame name='h' attached_to='n'/><frame name='i' attached_to='n::__model__'/></model>",
        {
            "m::n": "ABC",
            "m::n::l": "ABCD",
            "m::n::f": "ABCDE",
            "m::o::l": "AC",
            "m::g": "ABCDEA",
            "m::h": "ABC",
            "m::i": "ABC",
        },
    )


def test_joints_carry_bodies():
    imported = read(
        "<world name='w'><model name='m'>"
        + link("a")
        + link("b", "<pose>{A}</pose>")
        + "<frame name='at_b' attached_to='b'/>"
        + link("c", "<pose>{B}</pose>")
        + joint("j", "a", "b", kind="revolute")
        + joint("k", "at_b", "c")
        + joint("fixed_to_world", "world", "a")
        + "</model>"
        + f"<model name='n'>{link('x')}</model>"
        + joint("between", "m::c", "n")
        + "</world>"
    )
    carriers = {name: body.attached_to for name, body in imported.state.bodies.items()}
    assert carriers == {"m::a": "", "m::b": "m::a", "m::c": "m::b", "n::x": "m::c"}
    np.testing.assert_allclose(imported.state.bodies["m::c"].pose.matrix, np.linalg.inv(X["A"]) @ X["B"], atol=1e-12)
    assert imported.left_out == ("1 x motion of revolute joint",)


def test_links_of_a_model_may_touch_unless_specified_otherwise():
    models = f"<model name='m'>{link('a')}{link('b')}<link name='none'/></model>"
    models += f"<model name='n'><self_collide>true</self_collide>{link('a')}{link('b')}</model>"
    bodies = read(f"<world name='w'>{models}</world>").state.bodies
    assert bodies["m::a"].touch_bodies == ("m::b",)
    assert bodies["n::a"].touch_bodies == ()


def test_links_without_shape_are_frames():
    imported = read(
        f"<model name='m'>{link('a')}<link name='e'><pose>{{A}}</pose></link>{joint('j', 'a', 'e')}</model>"
    )
    assert list(imported.cell.bodies) == ["m::a"]
    assert imported.cell.frames["m::e"].attached_to == "m::a"


@pytest.mark.parametrize(
    "pose, expected",
    [
        ("<pose degrees='true'>1 2 3 90 0 0</pose>", Pose.from_rpy((1, 2, 3), (math.pi / 2, 0, 0))),
        ("<pose rotation_format='quat_xyzw'>1 2 3 0 0 0 1</pose>", Pose((1, 2, 3))),
        ("<pose rotation_format='quat_xyzw'>\n 0 0 1 0.6 0 0 0.8 </pose>", Pose((0, 0, 1), (0.6, 0, 0, 0.8))),
        ("<pose/>", Pose()),
        ("<pose> </pose>", Pose()),
        ("<pose rotation_format='euler_rpy' degrees='false'>0 0 0  0 0 1</pose>", Pose.from_rpy((0, 0, 0), (0, 0, 1))),
    ],
)
def test_formats_of_poses(pose, expected):
    assert read(f"<model name='m'>{link('l', pose)}</model>").state.bodies["m::l"].pose == expected


@pytest.mark.parametrize("version", ["1.3", "1.4", "1.5", "1.6"])
def test_versions_without_frame_semantics(version):
    check(f"<model name='m'><pose>{{A}}</pose>{link('l', '<pose>{B}</pose>')}</model>", {"m::l": "AB"}, version=version)


def test_the_attribute_frame_of_old_documents():
    content = f"<model name='m'>{link('k', '<pose>{A}</pose>')}" + link("l", "<pose frame='k'>{B}</pose>") + "</model>"
    check(content, {"m::l": "AB"}, version="1.6")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_trees_of_references(data):
    """Links and frames placed relative to any one before them, in any order in the document."""
    count = data.draw(st.integers(1, 12))
    names = [f"n{i}" for i in range(count)]
    entries, matrices = {}, {"": X["A"]}
    for i, name in enumerate(names):
        relative_to = data.draw(st.sampled_from(["", *names[:i]]))
        factor = data.draw(st.sampled_from(sorted(TEXTS)))
        matrices[name] = matrices[relative_to] @ X[factor]
        pose = f"<pose relative_to='{relative_to}'>{{{factor}}}</pose>"
        is_link = i == 0 or data.draw(st.booleans())
        entries[name] = link(name, pose) if is_link else f"<frame name='{name}'>{pose}</frame>"
    order = data.draw(st.permutations(names))
    poses = world_poses(read(f"<model name='m'><pose>{{A}}</pose>{''.join(entries[name] for name in order)}</model>"))
    for name in names:
        np.testing.assert_allclose(poses[f"m::{name}"], matrices[name], atol=1e-9)


@pytest.fixture
def library(tmp_path):
    return fill(tmp_path)


@pytest.mark.parametrize("uri", ["mug.sdf", "file://{}/mug.sdf", "model://cup", "cup", "package://cup/new.sdf"])
def test_included_models(library, uri):
    imported = read(f"<world name='w'>{include('<name>mine</name>', uri.format(library))}</world>", **options(library))
    assert len(imported.cell.bodies) == 1
    assert next(iter(imported.cell.bodies)).startswith("mine::")


def test_the_newest_version_that_a_manifest_lists(library):
    imported = read(f"<world name='w'>{include('', 'model://cup')}</world>", **options(library))
    assert list(imported.cell.bodies) == ["new::l"]


def test_poses_of_includes(library):
    content = (
        "<world name='w'><frame name='f'><pose>{D}</pose></frame>"
        + include("")
        + include("<name>two</name><pose>{E}</pose>")
        + include("<name>three</name><pose relative_to='f'>{E}</pose>")
        + include("<name>four</name><pose relative_to='mug::bottom'>{E}</pose>")
        + "</world>"
    )
    expected = {"mug": "A", "mug::body": "AB", "mug::bottom": "ABC", "two::body": "EB", "three::body": "DEB"}
    check(content, {**expected, "four::body": "ABCEB"}, **options(library))


def test_placement_frames(library):
    content = (
        "<world name='w'><frame name='f'><pose>{D}</pose></frame>"
        + include("<name>a</name><pose>{E}</pose><placement_frame>bottom</placement_frame>")
        + include("<name>b</name><pose relative_to='f'>{E}</pose><placement_frame>bottom</placement_frame>")
        + include("<name>c</name>", "placed.sdf")
        + include("<name>d</name><pose>{E}</pose>", "placed.sdf")
        + include("<name>e</name><pose>{E}</pose><placement_frame>body</placement_frame>", "placed.sdf")
        + "</world>"
    )
    # The pose is that of the frame; the model follows from it: X_WM = X_WF inverse(X_MF), here X_MF = BC or B.
    expected = {"a": "Ecb", "a::bottom": "E", "a::body": "Ec", "b::bottom": "DE", "c::bottom": "A", "d::bottom": "E"}
    check(content, {**expected, "e::body": "E", "e": "Eb"}, **options(library))


def test_a_placement_frame_deep_inside(library):
    content = (
        "<world name='w'><model name='m' placement_frame='n::o::l'><pose>{A}</pose>"
        "<model name='n' placement_frame='o'><pose>{B}</pose><model name='o'><pose>{C}</pose>"
        + link("l", "<pose>{D}</pose>")
        + "</model></model></model></world>"
    )
    # o's own frame is at B in m (n is placed by it), and l at BD in m, so that m is at A inverse(BD).
    check(content, {"m::n::o::l": "A", "m": "Adb", "m::n::o": "Ad"}, **options(library))


def test_merged_models(library):
    content = (
        "<world name='w'><model name='m'><pose>{D}</pose>"
        + include("<pose>{E}</pose>", merge=" merge='true'")
        + "<frame name='g' attached_to='bottom'/>"
        + link("own", "<pose>{A}</pose>")
        + "</model></world>"
    )
    check(content, {"m::body": "DEB", "m::bottom": "DEBC", "m::g": "DEBC", "m::own": "DA"}, **options(library))
    imported = read(content, **options(library))
    assert imported.cell.frames["m"].attached_to == "m::body"
    assert set(imported.cell.bodies) == {"m::body", "m::own"}


def test_the_model_frame_of_a_merged_model(library):
    by_model = "<pose relative_to='__model__'>{C}</pose>"
    frame = "<frame name='f' attached_to='__model__'><pose>{B}</pose></frame>"
    arm = f"<model name='arm'>{link('a', '<pose>{A}</pose>')}{frame}{link('b', by_model)}</model>"
    (library / "arm.sdf").write_text(document(arm))
    content = (
        "<world name='w'><model name='m'>" + include("<pose>{E}</pose>", "arm.sdf", " merge='1'") + "</model></world>"
    )
    check(content, {"m::a": "EA", "m::f": "EB", "m::b": "EC"}, **options(library))
