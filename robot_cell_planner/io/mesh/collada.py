"""COLLADA documents as pycollada needs them: what it would misread is corrected by the specification, or refused."""

from __future__ import annotations

import math
from typing import Any


def prepare_collada(root: Any) -> None:
    """Check a COLLADA document for what pycollada cannot read, and make the axes of its rotations unit vectors.

    The axis of a <rotate> has any length, as that of OpenGL's glRotate (COLLADA 1.4.1, <rotate>); pycollada would
    distort the node by another one than 1.

    Raises:
        ValueError: There is no namespace or no scene, a node is skewed, or an axis is zero.
    """
    if "}" not in str(root.tag):
        raise ValueError(f"its root element <{root.tag}> has no namespace (xmlns), so that it is no COLLADA document")
    if root.find("{*}scene/{*}instance_visual_scene") is None:
        raise ValueError("it has no <scene> with an <instance_visual_scene>, so that no node of it is used")
    if next(root.iter("{*}skew"), None) is not None:
        raise ValueError("a node has a <skew>, which is not supported; apply the transformations when exporting")
    for rotate in root.iter("{*}rotate"):
        rotate.text = _with_unit_axis(rotate.text or "")


def _with_unit_axis(text: str) -> str:
    """Return the text of a <rotate>, axis and angle, with an axis of length 1; malformed ones are left to the parser.

    Raises:
        ValueError: The axis is zero, and the angle is not.
    """
    numbers = [float(word) for word in text.split()]
    if len(numbers) != 4:
        return text
    *axis, angle = numbers
    length = math.hypot(*axis)
    if length == 0.0 and angle != 0.0:
        raise ValueError(f"a <rotate> by {angle:g} degrees has no axis")
    if length == 0.0:
        return "0 0 1 0"
    return " ".join(repr(value) for value in (*(value / length for value in axis), angle))
