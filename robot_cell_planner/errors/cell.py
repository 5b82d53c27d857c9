"""Errors of files, cells, state and frames."""

from __future__ import annotations

from pathlib import Path

from .base import RobotCellError
from .remedies import EXISTING_FILE, OF_THE_SYSTEM, OTHER_CAUSE
from .requests import UnknownNameError


class FileError(RobotCellError):
    """A file is missing, unreadable, malformed, or of an unknown version; the message gives the position."""

    code = 200
    remedy = "Correct the file at the position that the message gives."
    default_stage = "read file"

    @classmethod
    def of(cls, path: str | Path, error: OSError | ValueError, stage: str) -> FileError:
        """Return the error about a file that the system reports; ValueError: a zero byte or an unpaired surrogate."""
        number = error.errno if isinstance(error, OSError) and error.errno else 0
        text = f"{path}: {(error.strerror if isinstance(error, OSError) else '') or error}"
        return cls(text, stage=stage, subjects=(str(path),), remedy=OF_THE_SYSTEM.get(number, OTHER_CAUSE))

    @classmethod
    def existing(cls, path: str | Path, stage: str) -> FileError:
        """Return the error about a file that must not be replaced."""
        text = f"{path} exists, and is not to be overwritten"
        return cls(text, stage=stage, subjects=(str(path),), remedy=EXISTING_FILE)


class ResourceError(RobotCellError):
    """A URI cannot be resolved, or resolves to a path outside the allowed folders."""

    code = 201
    remedy = (
        "Add the folder to `resource_folders` or by --root, or the package to `resource_packages` or "
        "AMENT_PREFIX_PATH (source its workspace); for a port that is in use, choose another one."
    )
    default_stage = "resolve"


class GeometryError(RobotCellError):
    """A shape or mesh is degenerate, unbounded, empty, inverted or not finite."""

    code = 202
    remedy = "Repair the mesh (normals, holes, units), or replace it by a primitive or a convex hull."
    default_stage = "geometry"


class ModelError(RobotCellError):
    """A robot, tool or cell is inconsistent: duplicate link names, a joint to an unknown link, a kinematic loop."""

    code = 203
    remedy = "Correct the URDF, SRDF or cell file where the message points."
    default_stage = "model"


class FrameCycleError(RobotCellError):
    """An attachment would create a cycle of frames; `subjects` lists the cycle."""

    code = 204
    remedy = "Detach one of the objects that `subjects` lists before the change."
    default_stage = "frames"


class DuplicateNameError(RobotCellError):
    """The name is already used by another object of the cell."""

    code = 205
    remedy = (
        "Choose another name, or remove the object that has it. Robots of the same description have a `prefix` each."
    )
    default_stage = "frames"


class StateError(RobotCellError):
    """A state does not match its cell: a joint or body is missing, or two tools are attached to one tip link."""

    code = 206
    remedy = "Take the state from `scene/get_state`, and change that."
    default_stage = "state"


class StaleStateError(RobotCellError):
    """The scene or the measured joint state did not become as recent as requested within the time limit."""

    code = 207
    remedy = (
        "Check that joint states arrive and the scene node runs; raise the timeout of the request on a busy machine."
    )
    default_stage = "state"


class NoCellError(RobotCellError):
    """No cell has been received or loaded."""

    code = 208
    remedy = "Start the scene node with `cell_file`, or call `scene/load_cell`."
    default_stage = "state"


class RevisionConflictError(RobotCellError):
    """A change was requested for a revision that is not the current one."""

    code = 209
    remedy = "Read the state again, and repeat the change for the revision that is current."
    default_stage = "change"


class JournalError(RobotCellError):
    """The journal cannot be written or read."""

    code = 210
    remedy = "Check space and permissions of the disk. A damaged journal: see `journal_repair` in docs/scene.md."
    default_stage = "journal"


class TransformError(RobotCellError):
    """A transform could not be obtained from TF; base class of the errors below."""

    code = 211
    remedy = "See the errors 212 to 214."
    default_stage = "transform"


class TransformLookupError(TransformError, UnknownNameError):
    """Neither the cell nor TF has a frame of this name (tf2's LookupException)."""

    code = 212
    remedy = "Check the name of the frame, and that its publisher runs; raise `transform_timeout` if it starts late."


class TransformExtrapolationError(TransformError):
    """TF has no data about a frame at the requested time, only before or after it (tf2's ExtrapolationException)."""

    code = 213
    remedy = (
        "Use a stamp that TF has: clocks that differ between computers, or a buffer that is too short, are "
        "common causes."
    )


class TransformConnectivityError(TransformError):
    """TF does not connect two frames: they are in separate trees (tf2's ConnectivityException)."""

    code = 214
    remedy = "Publish the missing transform between the two trees."
