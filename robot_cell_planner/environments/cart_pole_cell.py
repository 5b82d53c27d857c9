"""The cart-pole: a cart on a rail, with a pole on a passive joint."""

from __future__ import annotations

from importlib.resources import files

from frozendict import frozendict

from ..io.robot_description.loading import robot_from_sources
from ..model.cell import RobotCell
from ..model.sources import ModelSources
from ..model.state import RobotCellState

GROUP = "cart"


def cart_pole() -> tuple[RobotCell, RobotCellState]:
    """Return the cell of the cart-pole, with the planning group "cart" of the joint that acts."""
    text = files(__package__).joinpath("assets", "cart_pole.urdf").read_text(encoding="utf-8")
    srdf = f'<robot name="cart_pole"><group name="{GROUP}"><chain base_link="rail" tip_link="cart"/></group></robot>'
    robot = robot_from_sources("cart_pole", ModelSources(text, srdf))
    cell = RobotCell("cart_pole", frozendict({robot.name: robot}))
    return cell, cell.default_state()
