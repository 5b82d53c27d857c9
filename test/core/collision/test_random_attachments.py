"""Three hundred random attachments: the allowed pairs are compared with a reference, and the engine with single
pairs."""

import coal
import numpy as np
import pytest
from collision_cells import (
    arm,
    at,
    body,
    box,
    gripper,
    make_cell,
    mechanism,
    place,
    settings,
    sphere,
    spindle,
)
from frozendict import frozendict
from reference_rules import ReferenceRules

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import TOUCHING
from robot_cell_planner.collision.pairs.allowed_pairs import AllowedPairs
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.model.bodies import NamedFrame, PairMargin
from robot_cell_planner.model.geometry import Box, Sphere
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.robot import DisabledPair, PlanningGroup, Robot

SCENARIOS = 300


def chance(rng, probability):
    return rng.random() < probability


def some(rng, names, max_count):
    count = min(len(names), int(rng.integers(0, max_count + 1)))
    return tuple(sorted(rng.choice(sorted(names), count, replace=False).tolist())) if count else ()


def random_robot(rng, name):
    """A tree of up to eight links with joints of all types; some links have no shape, some pairs are
    disabled."""
    count = int(rng.integers(3, 9))
    links, joints = {}, []
    for index in range(count):
        has_shape = chance(rng, 0.75)
        links[f"{name}_{index}"] = [box(*rng.uniform(0.02, 0.12, 3).tolist())] if has_shape else []
        if index:
            parent = f"{name}_{int(rng.integers(max(0, index - 2), index))}"
            kind = (JointKind.REVOLUTE, JointKind.FIXED, JointKind.PRISMATIC)[int(rng.integers(0, 3))]
            axis = tuple(float(value) for value in np.eye(3)[int(rng.integers(0, 3))])
            origin = at(*rng.uniform(-0.15, 0.15, 3).tolist())
            joints.append((f"{name}_joint{index}", kind, parent, f"{name}_{index}", origin, axis))
    made = mechanism(name, links, joints)
    tip = f"{name}_{count - 1}"
    group = PlanningGroup(f"{name}_group", tuple(v.name for v in made.variables), base_link=f"{name}_0", tip_link=tip)
    disabled = []
    if chance(rng, 0.6):
        for _ in range(3):
            one, other = some(rng, links, 2) or (f"{name}_0", f"{name}_1"), some(rng, links, 1)
            disabled.append(DisabledPair(one[0], (other or one)[-1]))
    return Robot(name, made, frozendict({group.name: group}), disabled_pairs=tuple(disabled))


def random_scene(seed):
    rng = np.random.default_rng(seed)
    robots = [random_robot(rng, f"robot{i}") for i in range(int(rng.integers(1, 3)))]
    tools = [(gripper, spindle)[i % 2](f"tool{i}") for i in range(int(rng.integers(0, 4)))]
    bodies = [
        body(
            f"body{i}",
            box(*rng.uniform(0.03, 0.2, 3).tolist()) if i % 2 else sphere(float(rng.uniform(0.02, 0.1))),
        )
        for i in range(int(rng.integers(1, 9)))
    ]
    links = [link for robot in robots for link in robot.mechanism.links]
    tool_links = [tool.frame_of(link) for tool in tools for link in tool.mechanism.links]
    frames_to_hang_on = [
        "world",
        *links,
        *tool_links,
        *(t.name for t in tools),
        *(t.tcp_frame for t in tools),
    ]
    frames = [NamedFrame(f"frame{i}", str(rng.choice(frames_to_hang_on))) for i in range(2)]
    entries = [*links, *tool_links, *(b.name for b in bodies)]
    wholes = [*(r.name for r in robots), *(t.name for t in tools)]
    groups = {}
    for i in range(int(rng.integers(0, 4))):
        members = (*some(rng, [*entries, *wholes], 4), *(["group0"] if chance(rng, 0.3) else []))
        groups[f"group{i}"] = members
    margins = {name: float(rng.uniform(0.0, 0.03)) for name in some(rng, [*entries, *wholes, "*"], 4)}
    pairs = [
        PairMargin(*(str(name) for name in rng.choice([*entries, *wholes, "*"], 2)), float(rng.uniform(0.0, 0.05)))
        for _ in range(int(rng.integers(0, 3)))
    ]
    cell = make_cell(robots, tools, bodies, settings(groups, margins, pairs), frames)
    return cell, random_state(rng, cell, frames_to_hang_on, entries, wholes)


def random_state(rng, cell, frames, entries, wholes):
    state = cell.default_state()
    groups = [group for robot in cell.robots.values() for group in robot.groups]
    for index, name in enumerate(cell.tools):
        attached = groups[index] if index < len(groups) and chance(rng, 0.8) else ""
        touch = {"touch_links": some(rng, entries, 2), "touch_bodies": some(rng, [*entries, *wholes], 2)}
        state = place(
            state,
            name,
            at(*rng.uniform(-0.1, 0.1, 3).tolist()),
            attached_to=attached,
            hidden=chance(rng, 0.1),
            **touch,
        )
    carriers = [*frames, "frame0", "frame1"]
    for name in cell.bodies:
        touch = {"touch_links": some(rng, entries, 2), "touch_bodies": some(rng, [*entries, *wholes], 2)}
        carrier = str(rng.choice(carriers)) if chance(rng, 0.6) else "world"
        state = place(
            state,
            name,
            at(*rng.uniform(-0.4, 0.4, 3).tolist(), rpy=rng.uniform(-3.0, 3.0, 3).tolist()),
            attached_to="" if carrier == "world" else carrier,
            hidden=chance(rng, 0.1),
            **touch,
        )
        carriers.append(name)
    return state


@pytest.mark.parametrize("block", range(10))
def test_allowed_pairs_agree_with_the_reference(block):
    for seed in range(block * SCENARIOS // 10, (block + 1) * SCENARIOS // 10):
        cell, state = random_scene(seed)
        cell.check_state(state)
        allowed_pairs = AllowedPairs(cell, state)
        expected = ReferenceRules(cell, state).pairs()
        found = {(int(p.pair_type), p.first, p.second): p.margin for p in allowed_pairs.checked()}
        assert found.keys() == expected.keys(), seed
        assert found == pytest.approx(expected), seed
        assert allowed_pairs.pair_count == len(expected)
        skipped = {(int(p.pair_type), p.first, p.second) for p in allowed_pairs.skipped()}
        objects = len(allowed_pairs.objects)
        assert not skipped & found.keys()
        assert len(skipped) + len(found) == objects * (objects - 1) // 2


def single_pairs(cell, state, model, q):
    """The smallest distance minus margin over the reference's pairs, by one call of coal for each."""
    import pinocchio as pin

    data = model.model.createData()
    pin.forwardKinematics(model.model, data, q)
    placed = {}
    reference = ReferenceRules(cell, state)
    for name in reference.objects:
        fixed = model.frame(name)
        world_T_frame = (data.oMi[fixed.joint] * fixed.placement).homogeneous
        for shape in reference.shapes[name]:
            geometry = shape.geometry
            made = (
                coal.Box(*geometry.size)
                if isinstance(geometry, Box)
                else coal.Sphere(geometry.radius)
                if isinstance(geometry, Sphere)
                else coal.Cylinder(geometry.radius, geometry.length)
            )
            pose = world_T_frame @ shape.pose.matrix
            placed[name] = (made, coal.Transform3s(pose[:3, :3], pose[:3, 3]))
    request = coal.DistanceRequest()
    slack = np.inf
    for (_, a, b), margin in reference.pairs().items():
        distance = coal.distance(*placed[a], *placed[b], request, coal.DistanceResult())
        slack = min(slack, distance - margin)
    return slack


@pytest.mark.parametrize("block", range(5))
def test_the_engine_agrees_with_single_pairs(block):
    colliding = checked = 0
    for seed in range(block * SCENARIOS // 5, (block + 1) * SCENARIOS // 5, 3):
        cell, state = random_scene(seed)
        model = cell_model(cell, state)
        checker = CollisionChecker(cell, state, model.variables)
        rng = np.random.default_rng(seed)
        for _ in range(3):
            q = rng.uniform(-1.5, 1.5, len(model.variables)) * (0.2 if seed % 2 else 1.0)
            slack = single_pairs(cell, state, model, model.expand(q))
            if abs(slack + TOUCHING) < 1e-6:
                continue
            assert checker.in_collision(q) == (slack < -TOUCHING), (seed, slack)
            colliding += slack < -TOUCHING
            checked += 1
    assert 0.1 * checked < colliding < 0.95 * checked


def test_a_robot_without_disabled_pairs_agrees_with_the_reference():
    cell = make_cell((arm(disabled=False),), (gripper(),), (body("part", sphere(0.02)),))
    state = place(cell.default_state(), "gripper", attached_to="manipulator")
    expected = ReferenceRules(cell, state).pairs()
    assert {(int(p.pair_type), p.first, p.second) for p in AllowedPairs(cell, state).checked()} == expected.keys()
