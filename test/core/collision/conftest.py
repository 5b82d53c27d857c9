import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Each run of the tests computes convex decompositions in its own temporary cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROBOT_CELL_PLANNER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
