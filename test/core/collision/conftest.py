import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Decompositions are made anew in every run of the tests, and leave nothing behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROBOT_CELL_PLANNER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
