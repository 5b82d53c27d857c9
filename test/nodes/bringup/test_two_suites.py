"""Two whole suites in one domain, in two namespaces and with two prefixes of frames, whose robots move at the same
time."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from builtin_interfaces.msg import Duration
from running import DEMO
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from robot_cell_planner.msg import ExecutionOptions, PlanningOptions, SceneChange
from robot_cell_planner.nodes.bringup.command_line import NODES
from robot_cell_planner.nodes.client.client import CellClient, make_goal
from robot_cell_planner.nodes.common.node import reliable

pytestmark = pytest.mark.alone

SUITES = ("left", "right")
TIMEOUT = 200.0  # [s] for nodes to appear on a busy machine
JOINT = "shoulder_pan_joint"
GOALS = {"left": -0.9, "right": -1.4}  # on either side of the start position
# A late command is extrapolated for 0.1 s: at this fraction of the planned speed, by less than 0.01 rad.
SLOWLY = ExecutionOptions(speed_scale=0.1)


@pytest.fixture(scope="module")
def suites(domain):
    processes = {}
    for name in SUITES:
        command = ["robot_cell", "--cell", str(DEMO), "--domain-id", str(domain)]
        command += ["--namespace", name, "--frame-prefix", f"{name}/"]
        processes[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield processes
    for process in processes.values():
        process.terminate()
    for name, process in processes.items():
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, f"{name}: {output}"


def full_names(node):
    return [f"{namespace}/{name}" for name, namespace in node.get_node_names_and_namespaces()]


@pytest.fixture(scope="module")
def clients(suites):
    made = {name: CellClient(f"{name}_client", namespace=name, discovery_timeout=TIMEOUT) for name in SUITES}
    expected, tries = {f"/{suite}/{name}_node" for suite in SUITES for name in NODES}, threading.Event()
    for _ in range(round(TIMEOUT / 0.2)):
        missing = expected - set(full_names(made["left"].node))
        if not missing:
            break
        tries.wait(0.2)
    assert not missing, f"did not appear: {sorted(missing)}"
    yield made
    for client in made.values():
        client.close()


class Reached:
    """The latest position of a joint, while two suites report theirs."""

    def __init__(self, client):
        self.values = []
        client.node.create_subscription(JointState, "joint_states", self._take, reliable(10))

    def _take(self, message):
        self.values.append(message.position[list(message.name).index(JOINT)])


def move(client, goal):
    client.scene()
    options = PlanningOptions(time_limit=Duration(sec=240))  # however busy the computer is
    plan = client.plan_motion(make_goal([{JOINT: goal}]), options=options)
    client.execute(plan.trajectory, SLOWLY)


def test_both_robots_move_at_once_and_each_by_its_own_commands(clients):
    reached = {name: Reached(client) for name, client in clients.items()}
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(move, clients[name], GOALS[name]) for name in SUITES]:
            done.result()
    for name, client in clients.items():
        client.settled_simulation(timeout=TIMEOUT)
        assert reached[name].values[-1] == pytest.approx(GOALS[name], abs=0.01)
        low, high = sorted((reached[name].values[0], GOALS[name]))
        assert all(low - 0.01 < value < high + 0.01 for value in reached[name].values)


def test_a_change_of_one_scene_does_not_affect_the_other(clients):
    before = {name: client.scene()[1] for name, client in clients.items()}
    clients["left"].apply(SceneChange(operation=SceneChange.HIDE, name="post"))
    assert clients["left"].scene()[1] == before["left"] + 1
    assert clients["right"].scene()[1] == before["right"]


def test_tf_has_both_trees_and_nothing_of_one_in_the_other(clients):
    parents, whole = {}, threading.Event()

    def tree(name):
        return {child.removeprefix(f"{name}/") for child in parents if child.startswith(f"{name}/")}

    def take(message):
        parents.update((entry.child_frame_id, entry.header.frame_id) for entry in message.transforms)
        if "gripper/tcp" in tree("left") and tree("left") == tree("right"):
            whole.set()

    node = clients["left"].node
    node.create_subscription(TFMessage, "/tf_static", take, reliable(10, latched=True))
    node.create_subscription(TFMessage, "/tf", take, reliable(100))
    assert whole.wait(TIMEOUT)
    for child, parent in dict(parents).items():
        suite = child.partition("/")[0]
        assert suite in SUITES
        assert parent == "world" or parent.startswith(f"{suite}/")
