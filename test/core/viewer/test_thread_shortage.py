"""Without a further thread, the live view still stops the robot, and goes on when there are threads again."""

import threading

import pytest
from recordings import demo_cell
from thread_shortage import ThreadShortage
from viewer_page import Page

from robot_cell_planner.viewer.live.act_panel import ActPanel
from robot_cell_planner.viewer.live.panel import LABELS, Panel
from robot_cell_planner.viewer.live.server import start_server
from robot_cell_planner.viewer.live.view import LiveView

CELL, STATE = demo_cell()


@pytest.fixture
def server():
    server = start_server(0, "test")
    yield server
    server.stop()


class Acts:
    """Acts of which only `stop` is called."""

    def __init__(self):
        self.stopped = threading.Event()

    def stop(self):
        self.stopped.set()
        return "done"


def test_stop_needs_no_thread(server, monkeypatch):
    view, acts = LiveView(server), Acts()
    ActPanel(server, view, acts)
    ThreadShortage(monkeypatch, "stop")
    with Page(server.get_port()) as page:
        page.press("Stop")
        assert acts.stopped.wait(60.0)
        page.wait_for_text("Stop: done")


def test_spheres_are_drawn_once_there_are_threads_again(server, monkeypatch):
    view = LiveView(server)
    panel = Panel(server, view)
    shortage = ThreadShortage(monkeypatch, "spheres")
    with Page(server.get_port()) as page:
        view.show(CELL, STATE, 1)
        page.set(LABELS["spheres"], True)
        tries = threading.Event()
        while not view.progress:
            tries.wait(0.01)
        panel.refresh()
        page.wait_for_text("spheres are not computed")
        shortage.active = False
        page.set(LABELS["spheres"], False)
        page.set(LABELS["spheres"], True)

        def drawn(page):
            spheres = [name for name in page.nodes if name.endswith("/spheres") and name.count("/") == 3]
            return len(spheres) == len(view.meshes.frames)

        page.wait_for(drawn, "the spheres")
