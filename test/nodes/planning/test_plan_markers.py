"""Markers of plans that follow each other quickly."""

import time
from types import SimpleNamespace

from rclpy.qos import DurabilityPolicy, QoSProfile
from spinning import spin_until
from visualization_msgs.msg import Marker, MarkerArray

from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor
from robot_cell_planner.nodes.planning import plan_markers
from robot_cell_planner.nodes.planning.plan_markers import PlanMarkers

SCENE = SimpleNamespace(cell=SimpleNamespace(group=lambda name: SimpleNamespace(tip_link="tip")))
PLANS = 20


def test_the_first_plan_is_shown_and_of_those_that_follow_at_once_the_last(node, monkeypatch):
    monkeypatch.setattr(plan_markers, "PERIOD", 1.0)
    monkeypatch.setattr(plan_markers, "plan_markers", lambda scene, plan: [Marker(id=plan.number)])
    executor, shown = GuardedExecutor(node.faults), []
    executor.add_node(node)
    markers = PlanMarkers(node)
    quality = QoSProfile(depth=PLANS, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    subscription = node.create_subscription(
        MarkerArray, "planning/markers", lambda message: shown.append(message.markers[-1].id), quality
    )
    markers.show(SCENE, SimpleNamespace(group="", number=0))
    assert not shown, "it does not delay the callback that has the plan"
    spin_until(executor, lambda: shown)
    for number in range(1, PLANS):
        markers.show(SCENE, SimpleNamespace(group="", number=number))
    spin_until(executor, lambda: len(shown) > 1)
    assert shown == [0, PLANS - 1]
    markers.show(SCENE, SimpleNamespace(group="", number=PLANS))
    node.release()  # a node that ends does not show what it has not shown yet
    node.destroy_publisher(markers._publisher)
    begun = time.monotonic()
    while time.monotonic() - begun < plan_markers.PERIOD:
        executor.spin_once(timeout_sec=0.2)
    assert node.faults.count == 0
    node.destroy_subscription(subscription)
    executor.shutdown()
