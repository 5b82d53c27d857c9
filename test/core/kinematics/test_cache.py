"""The cache that is keyed by identity."""

from robot_cell_planner.kinematics.cache import IdentityCache


def test_a_value_is_built_once_for_the_same_objects_and_extras():
    cache, built = IdentityCache(size=4), []
    one, equal = (1, 2), tuple([1, 2])
    for objects, extras in (((one,), ("a",)), ((one,), ("a",)), ((equal,), ("a",)), ((one,), ("b",))):
        cache.get(objects, extras, lambda: built.append(None) or len(built))
    assert len(built) == 3
    assert cache.get((one,), ("a",), lambda: 0) == 1


def test_what_is_asked_for_stays_and_the_rest_goes():
    cache, kept = IdentityCache(size=3), object()
    assert cache.get((kept,), (), lambda: "kept") == "kept"
    for index in range(50):
        cache.get((object(),), (index,), lambda: "passing")
        assert cache.get((kept,), (), lambda: "built again") == "kept"
    assert cache.get((kept,), (), lambda: "built again") == "kept"
    for index in range(50):
        cache.get((object(),), (index,), lambda: "passing")
    assert cache.get((kept,), (), lambda: "built again") == "built again"


def test_an_object_that_is_in_the_cache_cannot_be_mistaken_for_another():
    """Ids are given out again once an object is gone; the cache keeps those that it knows."""
    cache = IdentityCache(size=1000)
    assert [cache.get((object(),), (), lambda index=index: index) for index in range(500)] == list(range(500))
