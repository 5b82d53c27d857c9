"""Conversion of lengths in other units than metres."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Protocol, TypeVar

from geometry_msgs.msg import Point, Pose, Vector3

from robot_cell_planner.msg import BodyModel, SceneChange, ToolModel
from robot_cell_planner.msg import RobotCell as CellMessage
from robot_cell_planner.msg import RobotCellState as StateMessage
from robot_cell_planner.msg import Shape as ShapeMessage

from ...errors import InvalidRequestError
from ...model.value import positive

M = TypeVar("M", ToolModel, BodyModel)


def change_in_metres(message: SceneChange, field: str) -> SceneChange:
    """Return the change with lengths in metres, but for those of models with a `native_scale` of their own (see
    `model_in_metres`); the change itself if they already are.

    Raises:
        InvalidRequestError: `native_scale` is not positive.
    """
    factor = message.native_scale
    if factor == 1.0:
        return message
    _check_scale(factor, field)
    result = deepcopy(message)
    result.native_scale = 1.0
    _scale_positions([result], factor)
    _scale_models(result.models, factor)
    _scale_states(result.states, factor)
    return result


def model_in_metres(message: M, field: str) -> M:
    """Return a model with its own lengths in metres; the model itself if it has no `native_scale`.

    Raises:
        InvalidRequestError: `native_scale` is negative or not finite.
    """
    factor = message.native_scale
    if factor == 0.0:
        return message
    _check_scale(factor, field)
    result = deepcopy(message)
    result.native_scale = 0.0
    _scale_model(result, factor)
    return result


def _check_scale(scale: float, field: str) -> None:
    try:
        positive(scale, f"{field}.native_scale")
    except ValueError as error:
        raise InvalidRequestError(str(error), subjects=(field, "native_scale")) from error


def _scale_models(models: CellMessage, factor: float) -> None:
    objects: list[ToolModel | BodyModel] = [*models.tools, *models.bodies]
    for entry in objects:
        if entry.native_scale == 0.0:
            _scale_model(entry, factor)
    _scale_positions(models.frames, factor)
    for margin in models.collision.margins:
        margin.margin *= factor


def _scale_model(model: ToolModel | BodyModel, factor: float) -> None:
    _scale_positions(model.inertial, factor)
    for shape in (*model.visual, *model.collision):
        _scale_shape(shape, factor)
    if isinstance(model, ToolModel):
        _scale_vector(model.tcp.position, factor)


def _scale_shape(shape: ShapeMessage, factor: float) -> None:
    _scale_vector(shape.pose.position, factor)
    geometry = shape.geometry
    geometry.dimensions = [value * factor for value in geometry.dimensions]
    for vertex in geometry.mesh.vertices:
        _scale_vector(vertex, factor)
    if geometry.mesh_uri:
        scale = geometry.mesh_scale
        if not (scale.x or scale.y or scale.z):
            scale.x = scale.y = scale.z = 1.0
        _scale_vector(scale, factor)


def _scale_states(states: StateMessage, factor: float) -> None:
    _scale_positions((*states.base_poses, *states.tools, *states.bodies), factor)


class _Posed(Protocol):
    pose: Pose


def _scale_positions(entries: Iterable[_Posed], factor: float) -> None:
    for entry in entries:
        _scale_vector(entry.pose.position, factor)


def _scale_vector(vector: Point | Vector3, factor: float) -> None:
    vector.x, vector.y, vector.z = vector.x * factor, vector.y * factor, vector.z * factor
