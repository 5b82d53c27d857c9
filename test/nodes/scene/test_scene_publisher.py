"""Changes are published although an earlier one could not be."""

from types import SimpleNamespace

import pytest

from robot_cell_planner.msg import SceneUpdate
from robot_cell_planner.nodes.scene.publisher import ScenePublisher


class FailingOnce:
    """A publisher that cannot send its first message."""

    def __init__(self):
        self.sent, self._has_failed = [], False

    def publish(self, message):
        if not self._has_failed:
            self._has_failed = True
            raise RuntimeError("injected")
        self.sent.append(message.revision)


def test_a_change_that_cannot_be_published_does_not_keep_later_ones_from_it():
    calls, updates = [], FailingOnce()
    publisher = object.__new__(ScenePublisher)
    publisher._node, publisher._updates, publisher._pending = SimpleNamespace(soon=calls.append), updates, []
    for revision in (1, 2):
        publisher.publish_update(SceneUpdate(revision=revision))
    with pytest.raises(RuntimeError, match="injected"):
        calls.pop()()
    publisher.publish_update(SceneUpdate(revision=3))
    calls.pop()()
    assert updates.sent == [3], "scene monitors request the whole scene after a gap"
