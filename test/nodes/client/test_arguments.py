"""Arguments of the client that no message can carry are refused by name, before anything is sent."""

import pytest

from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.nodes.client import CellClient, make_pose_target


@pytest.fixture
def client(domain):
    with CellClient("test_arguments", discovery_timeout=0.1) as client:
        yield client


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda client: client.attach("part", "tool", touch_links="finger"), "touch_links"),
        (lambda client: client.detach("part", touch_bodies="table"), "touch_bodies"),
        (lambda client: client.stop_motion("left/"), "robots"),
        (lambda client: client.set_speed_scale(0.5, "left/"), "robots"),
        (lambda client: client.set_speed_scale("half"), "scale"),
        (lambda client: client.send_twist("abc"), "linear"),
        (lambda client: client.send_twist([0.0, 0.01]), "linear"),
        (lambda client: client.send_twist([0.0, 0.0, 0.01, 0.0, 0.0, 0.5]), "linear"),
        (lambda client: client.send_joint_velocities([0.1]), "velocities"),
    ],
)
def test_an_argument_of_another_type_or_length_is_named(client, call, name):
    """A text is a sequence of names of one letter, and a twist of six numbers would lose the last three."""
    with pytest.raises(InvalidRequestError, match=rf"\b{name} (is|has) .*, expected"):
        call(client)


def test_an_unknown_option_has_similar_ones(client):
    with pytest.raises(UnknownNameError, match="option 'max_step_distanc' does not exist; nearest: max_step_distance"):
        client.plan_cartesian(make_pose_target("pick"), max_step_distanc=0.1)
