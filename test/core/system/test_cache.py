"""The cache that is keyed by identity."""

import contextlib
import gc
import weakref

import numpy as np
import pytest

from robot_cell_planner.system.cache import IdentityCache


def test_a_value_is_built_once_for_the_same_objects_and_extras():
    cache, built = IdentityCache(size=4), []
    one, equal = (1, 2), tuple([1, 2])
    for objects, extras in (((one,), ("a",)), ((one,), ("a",)), ((equal,), ("a",)), ((one,), ("b",))):
        cache.get(objects, extras, lambda: built.append(None) or len(built))
    assert len(built) == 3
    assert cache.get((one,), ("a",), lambda: 0) == 1


def test_recently_used_entries_are_retained():
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
    """Python reuses the id of a deleted object; the cache therefore references its keys."""
    cache = IdentityCache(size=1000, owners=1000)
    assert [cache.get((object(),), (), lambda index=index: index) for index in range(500)] == list(range(500))


class Cell:
    """A large object that is replaced from time to time."""


def test_the_number_of_owners_is_bounded():
    cache, cells = IdentityCache(size=512, owners=4), []
    for _ in range(100):
        cell = Cell()
        cells.append(weakref.ref(cell))
        for extra in range(3):
            cache.get((cell, object()), (extra,), lambda cell=cell: [cell])
        del cell
    gc.collect()
    alive = [reference for reference in cells if reference() is not None]
    assert alive == cells[-4:]


def test_a_recently_used_owner_is_retained():
    cache, kept = IdentityCache(size=512, owners=4), Cell()
    cache.get((kept,), (), lambda: "kept")
    for index in range(50):
        cache.get((Cell(),), (index,), lambda: "passing")
        assert cache.get((kept,), (), lambda: "built again") == "kept"


def test_entries_and_owners_are_dropped_together():
    cache = IdentityCache(size=5, owners=3)
    owners = [Cell() for _ in range(7)]
    for step in range(500):
        cache.get((owners[step * step % 7],), (step % 11,), lambda: None)
        keys = [key for keys in cache._keys_of.values() for key in keys]
        assert sorted(keys) == sorted(cache._entries)
        assert len(cache._entries) <= 5
        assert 1 <= len(cache._keys_of) <= 3


def test_a_new_value_is_retained_although_all_others_were_requested():
    for cache, keep in ((IdentityCache(size=3), 3), (IdentityCache(size=512, owners=3), 3)):
        others = [Cell() for _ in range(keep)]
        for other in others:
            cache.get((other,), (), lambda: "other")
            cache.get((other,), (), lambda: "other")
        new = Cell()
        cache.get((new,), (), lambda: "new")
        assert cache.get((new,), (), lambda: "built again") == "new"


def test_a_new_value_is_retained_when_another_follows_though_all_others_were_requested():
    for cache, keep in ((IdentityCache(size=3), 2), (IdentityCache(size=512, owners=3), 2)):
        others = [Cell() for _ in range(keep)]
        for other in others * 2:
            cache.get((other,), (), lambda: "other")
        new, another = Cell(), Cell()
        for added in (new, another):
            cache.get((added,), (), lambda: "new")
        assert cache.get((new,), (), lambda: "built again") == "new"


def test_the_least_recently_used_entry_is_dropped():
    """As a list that is sorted by the last use."""
    rng = np.random.default_rng(0)
    cache, objects, known = IdentityCache(size=8, owners=8), [Cell() for _ in range(12)], []
    for index in rng.integers(len(objects), size=2000):
        built = []
        cache.get((objects[index],), (), lambda built=built: built.append(None))
        assert bool(built) == (index not in known[-8:])
        known = [other for other in known if other != index] + [index]


class Extra:
    """A key whose hash calls a function."""

    def __init__(self, called):
        self.called = called

    def __hash__(self):
        self.called()
        return 1


def test_the_thread_that_uses_the_cache_may_use_it_again_meanwhile():
    """As in handlers of signals, and in finalizers that garbage collection calls."""
    cache, owner = IdentityCache(size=2), Cell()
    cache.get((owner,), ("a",), lambda: "first")
    extra = Extra(lambda: cache.get((owner,), ("a",), lambda: "built again"))
    assert cache.get((owner,), (extra,), lambda: "second") == "second"
    assert cache.get((owner,), (extra,), lambda: "built again") == "second"
    assert cache.get((owner,), ("a",), lambda: "built again") == "first"


@pytest.mark.parametrize("calls", range(12))
def test_an_interrupt_leaves_a_cache_that_works(calls):
    def interrupt():
        nonlocal calls
        calls -= 1
        if calls == -1:
            raise KeyboardInterrupt

    cache, owners, extra = IdentityCache(size=3, owners=2), [Cell() for _ in range(5)], Extra(interrupt)
    for owner in owners:
        for key in (extra, "other"):
            with contextlib.suppress(KeyboardInterrupt):
                cache.get((owner,), (key,), lambda: "value")
    for owner in owners * 2:
        for key in (extra, "other"):
            assert cache.get((owner,), (key,), lambda: "value") == "value"
    assert len(cache._entries) <= 3
    assert len(cache._keys_of) <= 2
