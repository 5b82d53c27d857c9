"""The allowed collision matrix allows links that are never checked, though neither SRDF nor ignore group names them."""

from itertools import combinations

import pytest
from collision_cells import at, make_cell, mechanism, sphere
from frozendict import frozendict
from moveit_requests import CELL, STATE

from robot_cell_planner.collision.pairs.allowed_pairs import AllowedPairs, CollisionOptions
from robot_cell_planner.errors import NotSupportedError
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.robot import DisabledPair, PlanningGroup, Robot
from robot_cell_planner.model.sources import ModelSources
from robot_cell_planner.nodes.moveit.allowed_collisions import matrix_changes, matrix_message

LINKS = {name: [sphere(0.1)] for name in ("a", "b", "bracket", "c")}
JOINTS = [
    ("ab", JointKind.REVOLUTE, "a", "b", at(0.5), (0.0, 0.0, 1.0)),
    ("mount", JointKind.FIXED, "b", "bracket", at(0.05), (0.0, 0.0, 1.0)),
    ("bc", JointKind.REVOLUTE, "b", "c", at(0.5), (0.0, 0.0, 1.0)),
]
GROUP = frozendict({"g": PlanningGroup("g", ("ab", "bc"), base_link="a", tip_link="c")})
SRDF = {"sources": ModelSources(srdf="<robot name='arm'/>"), "disabled_pairs": (DisabledPair("a", "b"),)}


def arm(**what):
    return make_cell((Robot("arm", mechanism("arm", LINKS, JOINTS), GROUP, **what),))


def allowed(message):
    """Whether each pair of names is allowed."""
    names = list(message.entry_names)
    return {
        frozenset((names[i], names[j])): bool(message.entry_values[i].enabled[j])
        for i, j in combinations(range(len(names)), 2)
    }


@pytest.mark.parametrize("what", [SRDF, {}], ids=["with SRDF", "without SRDF"])
def test_pairs_that_no_check_includes_are_allowed(what):
    cell = arm(**what)
    found = allowed(matrix_message(cell))
    checked = {frozenset((pair.first, pair.second)) for pair in AllowedPairs(cell, cell.default_state()).checked()}
    assert {pair for pair, is_allowed in found.items() if not is_allowed} == checked
    assert found[frozenset(("b", "bracket"))]
    # They are only checked on request, which MoveIt's services never make.
    also_fixed = AllowedPairs(cell, cell.default_state(), CollisionOptions(fixed_pairs=True)).checked()
    assert any({pair.first, pair.second} == {"b", "bracket"} for pair in also_fixed) == bool(what)


def test_links_of_a_tool_that_are_fixed_to_each_other_are_allowed():
    found = allowed(matrix_message(CELL))
    rules = AllowedPairs(CELL, STATE)
    fixed = {
        frozenset((pair.first, pair.second))
        for pair in rules.skipped()
        if pair.reason in {"fixed to each other", "neighbours at a joint"}
    }
    assert any("gripper/" in name for pair in fixed for name in pair)
    assert all(found[pair] for pair in fixed)
    checked = {frozenset((pair.first, pair.second)) for pair in rules.checked()}
    assert not any(found.get(pair, False) for pair in checked)


def test_a_matrix_that_allows_only_what_an_srdf_names_is_accepted():
    """Such as that of a client that knows the SRDF alone: nothing has to change."""
    cell = arm(**SRDF)
    message = matrix_message(cell)
    assert matrix_changes(cell, message, ()) == []
    row, column = (list(message.entry_names).index(name) for name in ("b", "bracket"))
    message.entry_values[row].enabled[column] = message.entry_values[column].enabled[row] = False
    assert matrix_changes(cell, message, ()) == []
    row, column = (list(message.entry_names).index(name) for name in ("a", "b"))
    message.entry_values[row].enabled[column] = message.entry_values[column].enabled[row] = False
    with pytest.raises(NotSupportedError, match="the SRDF of arm allows it"):
        matrix_changes(cell, message, ())
