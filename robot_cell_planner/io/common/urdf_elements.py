"""Elements of URDF texts."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from ...model.pose import IDENTITY, Pose

Element = etree._Element


def add_origin(target: Element, pose: Pose) -> None:
    """Add an <origin>, unless the pose is the identity."""
    if pose == IDENTITY:
        return
    etree.SubElement(target, "origin", xyz=number_list(pose.position), rpy=number_list(pose.rpy))


def number_list(values: Sequence[float]) -> str:
    """Return numbers as text, exact."""
    return " ".join(repr(float(value)) for value in values)
