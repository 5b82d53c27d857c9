"""Properties of the prediction of several concurrent motions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.trajectory.prediction import Progress, ahead, predicted
from robot_cell_planner.trajectory.trajectory import Trajectory

HORIZON, POINTS = 3.0, 61
share = st.floats(0.0, 1.0)
scale = st.floats(1e-3, 1.0)


def swing(names, duration=6.0, samples=41):
    """From rest to rest, along one polynomial of degree 5."""
    times = np.linspace(0.0, duration, samples)
    u = times / duration
    rows = (
        10 * u**3 - 15 * u**4 + 6 * u**5,
        (30 * u**2 - 60 * u**3 + 30 * u**4) / duration,
        (60 * u - 180 * u**2 + 120 * u**3) / duration**2,
    )
    way = np.linspace(0.5, -1.5, len(names))
    return Trajectory(names, times, *(row[:, None] * way for row in rows))


OWN, OTHER = swing(("left/a", "left/b")), swing(("right/a",), duration=4.0)


@given(share, scale, share, scale, share)
def test_each_motion_follows_its_own_trajectory_and_speed(own_share, own_scale, share_done, other_scale, when):
    own = Progress(OWN, own_share * OWN.duration, own_scale)
    other = Progress(OTHER, share_done * OTHER.duration, other_scale)
    found = predicted(own, (other,), HORIZON, POINTS)
    if found is None:
        assert OWN.duration - own.reached < 2e-3
        return
    assert found.variables == ("left/a", "left/b", "right/a")
    assert len(found) == POINTS
    seconds = when * (found.duration - own.reached) / own_scale  # from now on
    assert seconds <= HORIZON + 1e-9
    here = found.at([own.reached + seconds * own_scale])[0]
    there = OWN.at([own.reached + seconds * own_scale])[0]
    np.testing.assert_allclose(here[:2], there, atol=1e-9)
    # The end of the other trajectory falls between two samples.
    later = other.reached + seconds * other_scale
    np.testing.assert_allclose(here[2:], OTHER.at([min(later, OTHER.duration)])[0], atol=1e-4)


@given(share, scale)
def test_the_time_of_a_prediction_is_that_of_the_own_trajectory(own_share, own_scale):
    own = Progress(OWN, 0.99 * own_share * OWN.duration, own_scale)
    found = predicted(own, (), HORIZON, POINTS)
    assert found.times[0] == own.reached
    assert found.duration == pytest.approx(min(own.reached + HORIZON * own_scale, OWN.duration))
    np.testing.assert_array_equal(found.positions, OWN.at(found.times))


@pytest.mark.parametrize("own", [Progress(OWN, 1.0, 0.0), Progress(OWN, OWN.duration, 1.0)])
def test_a_stopped_or_ended_motion_has_an_empty_prediction(own):
    assert predicted(own, (Progress(OTHER, 0.0, 1.0),), HORIZON, POINTS) is None


def test_another_stopped_motion_keeps_its_position():
    found = predicted(Progress(OWN, 1.0, 1.0), (Progress(OTHER, 2.0, 0.0),), HORIZON, POINTS)
    np.testing.assert_allclose(found.positions[:, 2], OTHER.at([2.0])[0, 0])
    assert not found.velocities[:, 2].any()


def wiggle(period=0.08, samples=601):
    """A curve with features that are shorter than the intervals of a prediction."""
    times, rate = np.linspace(0.0, 6.0, samples), 2.0 * np.pi / period
    rows = np.sin(rate * times), rate * np.cos(rate * times), -(rate**2) * np.sin(rate * times)
    return Trajectory(("left/a",), times, *(row[:, None] * 0.01 for row in rows))


@given(share, scale, share)
@pytest.mark.parametrize("trajectory", [OWN, wiggle()], ids=["swing", "wiggle"])
def test_the_path_ahead_is_that_of_the_trajectory(trajectory, done, own_scale, when):
    own = Progress(trajectory, round(done * trajectory.duration, 9), own_scale)
    found = ahead(own, HORIZON, 400)
    if found is None:
        assert trajectory.duration - own.reached < 2e-3
        return
    assert found.times[0] == own.reached
    assert found.duration == pytest.approx(min(own.reached + HORIZON * own_scale, trajectory.duration))
    at = [own.reached + when * (found.duration - own.reached)]
    np.testing.assert_allclose(found.at(at), trajectory.at(at), atol=1e-7)


def test_a_path_ahead_of_many_samples_is_none():
    own = Progress(wiggle(), 1.0, 1.0)
    assert len(ahead(own, HORIZON, 301)) == 301
    assert ahead(own, HORIZON, 300) is None
    assert ahead(Progress(wiggle(), 1.0, 0.0), HORIZON, 301) is None
