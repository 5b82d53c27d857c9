"""Sphere models are computed in the background; requests in the meantime are informed that there are none yet."""

import logging
import queue
import threading
from types import SimpleNamespace

import pytest
from loaded_cells import loaded
from thread_shortage import ThreadShortage

from robot_cell_planner.errors import CancelledError, GeometryError
from robot_cell_planner.nodes.common import sphere_preparation
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.timed_calls import TimedCall


class Surroundings:
    """A node, its scene monitor, and a computation of sphere models that lasts until `finish`."""

    def __init__(self, error=None):
        cell, state = loaded()
        self.scene = SimpleNamespace(cell=cell, state=state)
        self.work, self.prepared, self.let = queue.Queue(), [], threading.Event()
        self.error, self.warnings, self.finished = error, (), 0

    def soon(self, work):
        self.work.put((work, len(self.prepared)))

    def get_logger(self):
        return logging.getLogger("spheres")

    def on_change(self, follow):
        self.follow = follow

    def on_release(self, work):
        self.release = work

    def prepare(self, cell, bodies, on_progress, prepared):
        on_progress("link", 0, 5)
        assert self.let.wait(30.0)
        self.prepared.append(bodies)
        if self.error is not None:
            raise self.error
        return SimpleNamespace(spheres=3, seconds=0.1, warnings=self.warnings)

    def next_work(self):
        """Call the next function of the thread in the node; return how many scenes the thread had prepared by then."""
        work, prepared = self.work.get(timeout=30.0)
        work()
        return prepared

    def finish(self):
        self.let.set()
        self.finished += 1
        while self.next_work() < self.finished:
            pass


def answer(coroutine):
    """The result of a coroutine that does not have to wait."""
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    return ended.value.value


@pytest.fixture(autouse=True)
def missing(monkeypatch):
    """Names of the objects whose models have to be computed; none unless a test adds some."""
    names = []
    monkeypatch.setattr(sphere_preparation, "missing_sphere_models", lambda cell, bodies, prepared: tuple(names))
    return names


def test_nothing_waits_while_models_are_computed(monkeypatch, missing):
    around = Surroundings()
    missing.append("link")
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    maker = sphere_preparation.SpherePreparation(around, around)
    around.follow()
    around.next_work()  # the thread has reported that it computes
    monkeypatch.setattr(sphere_preparation, "Deadline", lambda node, seconds: SimpleNamespace(passed=False, end=int))
    assert answer(maker.wait()) is False
    around.finish()
    assert answer(maker.wait()) is True


def test_a_cancellation_ends_the_wait(monkeypatch):
    around = Surroundings()
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    made = SimpleNamespace(passed=False, end=int, wakes=lambda future: None)
    monkeypatch.setattr(sphere_preparation, "Deadline", lambda node, seconds: made)
    maker = sphere_preparation.SpherePreparation(around, around)
    token, other = CancellationToken(), CancellationToken()
    waits = [maker.wait(token=token), maker.wait(token=other)]
    for wait in waits:
        wait.send(None)
    token.set(CancelledError("the client cancelled the goal"))
    with pytest.raises(CancelledError, match="the client cancelled the goal"):
        waits[0].send(None)
    waits[1].send(None)  # the other one waits on
    waits[1].close()


@pytest.fixture
def no_wait(monkeypatch):
    monkeypatch.setattr(sphere_preparation, "WAIT_TIMEOUT", 0.0)


@pytest.mark.parametrize("error", [None, GeometryError("a shape has no sphere model", stage="sphere model")])
def test_a_request_is_served_without_certificates_until_there_are_sphere_models(monkeypatch, no_wait, missing, error):
    around, reported = Surroundings(error), []
    missing.append("link")
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    maker = sphere_preparation.SpherePreparation(around, around, reported.append)
    around.follow()
    assert not maker.ready
    assert answer(maker.wait()) is False
    around.finish()
    assert maker.ready
    assert maker.progress == "ready"
    assert answer(maker.wait()) is True
    assert reported == [around.scene]
    assert len(around.prepared) == 1


def test_stored_models_serve_requests_before_they_are_loaded(monkeypatch):
    """Workers load them on their own."""
    around, reported = Surroundings(), []
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    maker = sphere_preparation.SpherePreparation(around, around, reported.append)
    around.follow()
    around.next_work()  # the thread has found nothing missing, and loads them
    assert maker.ready
    assert answer(maker.wait()) is True
    assert reported == [around.scene]
    around.finish()
    assert maker.ready
    assert reported == [around.scene]


def test_a_process_that_uses_stored_models_itself_is_ready_when_it_has_loaded_them(monkeypatch, no_wait):
    around, reported = Surroundings(), []
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    maker = sphere_preparation.SpherePreparation(around, around, reported.append, loads_first=True)
    around.follow()
    assert answer(maker.wait()) is False
    around.finish()
    assert answer(maker.wait()) is True
    assert reported == [around.scene]


def test_geometry_that_is_added_meanwhile_is_prepared_next(monkeypatch, no_wait, missing):
    around, reported = Surroundings(), []
    missing.append("link")
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    maker = sphere_preparation.SpherePreparation(around, around, reported.append)
    around.follow()
    cell, state = around.scene.cell, around.scene.state
    bodies = {name: body for name, body in cell.bodies.items() if name != min(cell.bodies)}
    smaller = SimpleNamespace(digest=lambda: "another", bodies=bodies)
    monkeypatch.setattr(sphere_preparation, "graspable", lambda cell, state: tuple(sorted(cell.bodies)))
    around.scene = SimpleNamespace(cell=smaller, state=state)
    around.follow()
    around.finish()
    assert answer(maker.wait()) is False
    around.finish()
    assert answer(maker.wait()) is True
    assert len(around.prepared) == 2
    assert reported == [around.scene]


def test_the_log_names_objects_with_coarse_spheres(monkeypatch, caplog):
    around = Surroundings()
    around.warnings = ("spheres of panel protrude by up to 52 mm",)
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    sphere_preparation.SpherePreparation(around, around)
    around.follow()
    around.finish()
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == list(around.warnings)


def test_the_objects_of_a_scene_are_searched_once_however_many_requests_there_are(monkeypatch):
    around, searches = Surroundings(), []
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    monkeypatch.setattr(sphere_preparation, "graspable", lambda cell, state: searches.append(1) or ())
    maker = sphere_preparation.SpherePreparation(around, around)
    around.follow()
    around.finish()
    assert all(maker.ready for _ in range(20))
    assert len(searches) == 1


@pytest.fixture
def later(monkeypatch):
    """Timed calls of the preparation."""
    calls = []

    def call_later(node, seconds, function):
        calls.append(TimedCall(seconds, function))
        return calls[-1]

    monkeypatch.setattr(sphere_preparation, "call_later", call_later)
    return calls


def test_models_are_prepared_again_after_a_lack_of_threads(monkeypatch, later, caplog):
    around, reported = Surroundings(), []
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    maker = sphere_preparation.SpherePreparation(around, around, reported.append, loads_first=True)
    monkeypatch.setattr(sphere_preparation, "Deadline", lambda node, seconds: SimpleNamespace(passed=False, end=int))
    shortage = ThreadShortage(monkeypatch, "sphere models")
    around.follow()
    assert answer(maker.wait()) is False  # at once
    assert "can't start new thread" in caplog.text
    shortage.active = False
    later[0].function()
    around.finish()
    assert maker.ready
    assert reported == [around.scene]


def test_a_scene_change_after_a_lack_of_threads_replaces_the_retry(monkeypatch, later):
    around = Surroundings()
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    maker = sphere_preparation.SpherePreparation(around, around, loads_first=True)
    shortage = ThreadShortage(monkeypatch, "sphere models")
    around.follow()
    around.follow()
    assert [call.function is None for call in later] == [True, False]
    shortage.active = False
    around.follow()
    assert later[1].function is None
    around.finish()
    assert maker.ready
    assert len(around.prepared) == 1


def test_nothing_is_prepared_after_the_release_of_the_node(monkeypatch, later):
    around = Surroundings()
    sphere_preparation.SpherePreparation(around, around)
    ThreadShortage(monkeypatch, "sphere models")
    around.follow()
    around.release()
    assert later[0].function is None


def test_models_that_are_computed_when_the_node_is_released_prepare_nothing(monkeypatch):
    """The node may have been configured again, for another scene."""
    around, reported = Surroundings(), []
    monkeypatch.setattr(sphere_preparation, "prepare_sphere_models", around.prepare)
    sphere_preparation.SpherePreparation(around, around, reported.append)
    around.follow()
    around.release()
    around.scene = None  # that of the released monitor is not used any more
    around.finish()
    assert reported == []
