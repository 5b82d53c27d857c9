"""Channels that wait to replace others: each of them begins, or fails together with the channel before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ...errors import StopRequestedError
from .channels import REPLACED, Channel


def hand_over(channels: list[Channel], now: float, max_command_gap: float) -> list[Channel]:
    """Start due successors in place of their channels; returns the channels that have ended, and the successors that
    have failed."""
    ended = []
    for index, channel in enumerate(channels):
        if channel.successor is None:
            continue
        if channel.hands_over(now, max_command_gap):
            channels[index] = channel.successor[0]
            channels[index].remember(channel)
            channel.replaced, channel.ended_at = True, time.monotonic()
            ended.append(channel)
        elif now >= channel.successor[0].begins:
            ended += _listed(channel.withdraw_successor())
    return ended


def withdraw_after_violations(channels: Sequence[Channel]) -> list[Channel]:
    """Withdraw the successors of channels that are stopped, since a command was rejected; returns them."""
    withdrawn = []
    for channel in channels:
        if channel.violation is not None:
            text = f"the motion to be replaced was stopped: {channel.violation}"
            withdrawn += _listed(channel.withdraw_successor(StopRequestedError(text, stage=REPLACED)))
    return withdrawn


def fail(channels: Sequence[Channel], reason: Exception) -> list[Channel]:
    """End channels and their successors; returns those that had not ended before."""
    failed = []
    for channel in channels:
        failed += [] if channel.ended else [channel]
        channel.fail(reason)
        failed += _listed(channel.withdraw_successor(reason))
    return failed


def report_ends(channels: Sequence[Channel], log: Callable[[str], object]) -> None:
    """Call `on_end` of channels that have ended; an error of one is logged."""
    for channel in channels:
        try:
            channel.on_end()
        except Exception as error:
            log(f"the end of the motion of {channel.owner} could not be reported: {error!r}")


def call_off(channels: Sequence[Channel], channel: Channel, why: str = "the motion was dropped") -> bool:
    """End a channel that was not started, and that will not replace another one any more; False if it was started."""
    if channel in channels or channel.sampler is not None:
        return False
    for other in channels:
        if other.successor is not None and other.successor[0] is channel:
            other.successor = None
    channel.stopping = True
    channel.fail(StopRequestedError(f"{why} before it began", stage=REPLACED))
    return True


def _listed(channel: Channel | None) -> list[Channel]:
    return [] if channel is None else [channel]
