"""Other nodes take the scene of a scene node that is started again, whose revisions begin anew."""

import pytest
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.msg import SceneChange

ATTEMPTS = 3000  # requests until the new scene has arrived


def revision_used(client, expected):
    """The revision with which the collision node replies, once it is the expected one, or after many requests."""
    for _ in range(ATTEMPTS):
        reply = client.call_service(srv.CheckStates, "collision/check_states", srv.CheckStates.Request())
        assert reply.error.code == 0, reply.error.message
        if reply.state.revision == expected:
            break
    return reply.state.revision


@pytest.mark.parametrize("simulated_time", [True, False])  # stamps of a simulated clock that does not run are zero
def test_the_scene_of_a_restarted_node_replaces_one_with_higher_revisions(start_node, client, simulated_time):
    scene_node = start_node("scene_node", cell_file=DEMO, use_sim_time=simulated_time)
    collision_node = start_node("collision_node", use_sim_time=simulated_time)
    client.scene()  # waits for the node: a change that is lost is not repeated
    for touched in (["table"], [], ["table"]):
        client.apply(SceneChange(operation=SceneChange.SET_TOUCH, name="workpiece", touch_bodies=touched))
    _, revision = client.scene()
    assert revision_used(client, revision) == revision == 4
    for expected in (1, 1):
        scene_node.kill()
        scene_node = start_node("scene_node", cell_file=DEMO, use_sim_time=simulated_time)
        assert client.scene()[1] == expected
        assert revision_used(client, expected) == expected
    for node in (scene_node, collision_node):
        node.stop()
