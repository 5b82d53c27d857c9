"""The wait set of an executor, kept for as long as its nodes have the same entities.

rclpy's executors make a new wait set each time they wait, and look up every entity and its handle in Python, two or
three times for each event. A kept wait set only has its entities added again, as `rcl_wait` requires.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.waitable import NumberOfEntities

KINDS = ("timer", "subscription", "guard_condition", "client", "service")


@dataclass(frozen=True, slots=True)
class Entity:
    """A timer, subscription, guard condition, client, service or waitable of a node."""

    entity: Any
    handle: Any
    node: Node
    group: Any  # None if entities of the group are always executable

    def is_executable(self) -> bool:
        return not self.entity._executor_event and (self.group is None or self.group.can_execute(self.entity))


class Ready(NamedTuple):
    """An entity with work to do; a waitable if `kind` is "waitable"."""

    kind: str
    entity: Any
    node: Node


def entities_of(node: Node) -> tuple[tuple[Any, ...], ...]:
    """Return the entities of a node: of each kind in the order of KINDS, then the waitables."""
    return (
        tuple(node.timers),
        tuple(node.subscriptions),
        tuple(node.guards),
        tuple(node.clients),
        tuple(node.services),
        tuple(node.waitables),
    )


class KeptWaitSet:
    """Waits for the entities that nodes had when it was made.

    The handles of the entities are in use until `release`: one that is destroyed before exists until then.
    """

    def __init__(self, context: Context, nodes: tuple[Node, ...], executor_guards: list[Any]) -> None:
        """executor_guards: guard conditions that end the wait and have no callback."""
        self._nodes = nodes
        self._made_for = [entities_of(node) for node in nodes]
        self._executor_guards = executor_guards
        self._exclusive: dict[MutuallyExclusiveCallbackGroup, Any] = {}  # each with one of its entities
        self._entities: dict[str, list[Entity]] = {kind: [] for kind in (*KINDS, "waitable")}
        self._by_pointer: dict[str, dict[int, Entity]] = {kind: {} for kind in KINDS}
        self._resources = ExitStack()
        try:
            self._collect()
            self._wait_set = self._create(context)
        except BaseException:
            self._resources.close()
            raise
        self._add: dict[str, Callable[[Any], Any]] = {kind: getattr(self._wait_set, f"add_{kind}") for kind in KINDS}

    def _collect(self) -> None:
        for node, of_node in zip(self._nodes, self._made_for, strict=True):
            for kind, entities in zip((*KINDS, "waitable"), of_node, strict=True):
                for entity in entities:
                    self._collect_entity(kind, entity, node)

    def _collect_entity(self, kind: str, entity: Any, node: Node) -> None:
        group = entity.callback_group
        if group is None:  # rclpy does not execute entities without a group
            return
        handle = entity if kind == "waitable" else entity.handle
        try:
            self._resources.enter_context(handle)
        except InvalidHandle:  # destroyed; the node no longer lists it the next time
            return
        found = Entity(entity, handle, node, None if type(group) is ReentrantCallbackGroup else group)
        if type(group) is MutuallyExclusiveCallbackGroup:
            self._exclusive.setdefault(group, entity)
        self._entities[kind].append(found)
        if kind != "waitable":
            self._by_pointer[kind][handle.pointer] = found

    def _create(self, context: Context) -> Any:
        """Return a wait set with room for all entities."""
        count = {kind: len(self._entities[kind]) for kind in KINDS}
        total = NumberOfEntities(
            count["subscription"],
            count["guard_condition"] + len(self._executor_guards),
            count["timer"],
            count["client"],
            count["service"],
        )
        for waitable in self._entities["waitable"]:
            total += waitable.entity.get_num_entities()
        for guard in self._executor_guards:
            self._resources.enter_context(guard.handle)
        if context.handle is None:
            raise RuntimeError("the context is not initialized")
        self._resources.enter_context(context.handle)
        return rclpy_implementation.WaitSet(
            total.num_subscriptions,
            total.num_guard_conditions,
            total.num_timers,
            total.num_clients,
            total.num_services,
            total.num_events,
            context.handle,
        )

    def serves(self, nodes: tuple[Node, ...]) -> bool:
        """Return whether it was made for these nodes and their present entities."""
        return self._nodes == nodes and self._made_for == [entities_of(node) for node in nodes]

    def wait(self, timeout: float) -> Iterator[Ready]:
        """Wait until an entity that may be executed has work to do, or a guard condition is triggered, at most
        `timeout` [s], which may be infinite. Yields the entities with work to do: waitables first, then in the order of
        KINDS, as rclpy's executors do."""
        wait_set = self._wait_set
        wait_set.clear_entities()
        # All entities of an exclusive group are executable, or none is.
        free = {group for group, entity in self._exclusive.items() if group.can_execute(entity)}
        for kind in KINDS:
            add = self._add[kind]
            for found in self._entities[kind]:
                if not found.entity._executor_event if found.group in free else found.is_executable():
                    if kind == "guard_condition" and found.entity._executor_triggered:
                        found.entity.trigger()  # it was triggered, but its callback could not be executed
                    add(found.handle)
        for guard in self._executor_guards:
            wait_set.add_guard_condition(guard.handle)
        waitables = [found for found in self._entities["waitable"] if found.is_executable()]
        for found in waitables:
            found.entity.add_to_wait_set(wait_set)
        wait_set.wait(-1 if math.isinf(timeout) else max(0, round(1e9 * timeout)))
        return self._ready(waitables)

    def _ready(self, waitables: list[Entity]) -> Iterator[Ready]:
        ready = [(kind, self._wait_set.get_ready_entities(kind)) for kind in KINDS]
        guards = self._by_pointer["guard_condition"]
        for pointer in ready[KINDS.index("guard_condition")][1]:
            if pointer in guards:
                guards[pointer].entity._executor_triggered = True
        for waitable in waitables:
            if waitable.entity.is_ready(self._wait_set) and waitable.is_executable():
                yield Ready("waitable", waitable.entity, waitable.node)
        for kind, pointers in ready:
            by_pointer = self._by_pointer[kind]
            for found in (by_pointer[pointer] for pointer in pointers if pointer in by_pointer):
                if kind == "timer" and not found.handle.is_timer_ready():  # it was cancelled
                    continue
                if found.is_executable():
                    yield Ready(kind, found.entity, found.node)

    def early_timers(self) -> Iterator[Ready]:
        """Yield the timers that may be called early (`steady_timer`), and are due within half of their periods."""
        for found in self._entities["timer"]:
            if not getattr(found.entity, "may_be_early", False) or not found.is_executable():
                continue
            try:
                with found.handle:
                    left, period = found.handle.time_until_next_call(), found.handle.get_timer_period()
            except InvalidHandle:  # the executor was shut down in a callback before
                continue
            if left is not None and 2 * left <= period:
                yield Ready("timer", found.entity, found.node)

    def release(self) -> None:
        """Release the handles of the entities."""
        self._resources.close()
