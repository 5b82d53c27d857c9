"""Texts of the page as HTML; names and messages are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from ..overlays import CERTIFIED, CLOSE, COLLIDING, SPEED_SCALE, UNCERTIFIED, Colour, PairMark
from ..state_checks import StateChecks

MAX_ROWS = 8
FONT = "font-size: 13px; line-height: 1.45; overflow-wrap: anywhere; padding: 0 0.7em"

NAME = "opacity: 0.65; vertical-align: top; padding-right: 0.8em; white-space: nowrap"  # of a row


def block(content: str) -> str:
    """Return HTML in the font of the panel."""
    return f'<div style="{FONT}">{content}</div>'


def rows(values: Mapping[str, str]) -> str:
    """Return a table of two columns."""
    lines = "".join(
        f'<tr><td style="{NAME}">{escape(name)}</td><td>{escape(value)}</td></tr>' for name, value in values.items()
    )
    return f'<table style="border-spacing: 0">{lines}</table>'


def checks_text(checks: StateChecks) -> str:
    """Return what collides, or the closest pair."""
    if checks.collisions:
        title = coloured(
            f"{len(checks.collisions)} pairs collide" if len(checks.collisions) > 1 else "Collision", COLLIDING
        )
        return title + pairs_text(checks.collisions)
    if checks.closest is None:
        return escape(f"no collision in {checks.pairs_checked} pairs")
    return escape(f"no collision in {checks.pairs_checked} pairs; closest: {checks.closest.label}")


def pairs_text(marks: Iterable[PairMark]) -> str:
    """Return a list of pairs, the first MAX_ROWS of them."""
    found = list(marks)
    lines = [f"<li>{escape(mark.label)}</li>" for mark in found[:MAX_ROWS]]
    if len(found) > MAX_ROWS:
        lines.append(f"<li>and {len(found) - MAX_ROWS} more</li>")
    return f'<ul style="margin: 0; padding-left: 1.2em">{"".join(lines)}</ul>'


def coloured(text: str, colour: Colour) -> str:
    """Return bold text in a colour."""
    return f'<b style="color: rgb{colour}">{escape(text)}</b>'


def legend() -> str:
    """Return what the colours mean."""
    names = {"collision": COLLIDING, "closest pair": CLOSE, "certified": CERTIFIED, "not certified": UNCERTIFIED}
    swatches = " ".join(f'<span style="color: rgb{colour}">\u25a0</span> {name}' for name, colour in names.items())
    stops = ", ".join(f"rgb{colour}" for colour in SPEED_SCALE)
    bar = f'<div style="height: 0.5em; background: linear-gradient(to right, {stops})"></div>'
    return f"{swatches}{bar}<div>tool speed: 0 to maximum</div>"
