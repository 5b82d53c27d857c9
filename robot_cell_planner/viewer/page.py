"""Replay page: a single HTML file that includes shapes, motion and viewer code."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from frozendict import frozendict

from ..errors import FileError, InvalidValueError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Rgba, Shape, Sphere, Triangles
from ..model.pose import IDENTITY, Pose
from ..system.private_files import make_output_folder, write_private_text
from ..trajectory.trajectory import Trajectory
from .appearance import LINK_COLOUR, Surface, VisibleObject, surfaces, visible_objects
from .details import certificate, checks, curves, limits
from .motion import Track, events, joint_series, tracks, visibility
from .overlays import margin_of
from .packing import Block
from .recording import MAX_MOMENTS, Recording
from .tool_paths import CertifiedPath
from .triangles import collision_surfaces, margin_surfaces, sphere_rows

FORMAT = "robot_cell_replay/2"
STAGE = "write replay"
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
SCRIPTS = (
    "three.min.js",
    "data.js",
    "shapes.js",
    "stage.js",
    "trail.js",
    "labels.js",
    "layers.js",
    "marks.js",
    "curves.js",
    "panel.js",
    "player.js",
)


@public
def write_html(
    path: str | os.PathLike[str],
    cell: RobotCell,
    recording: Recording,
    title: str = "",
    rate: float = 50.0,
    trajectories: Mapping[str, Trajectory] = frozendict(),
    certified: CertifiedPath | None = None,
) -> Path:
    """Write the replay of a recording as one HTML file, which needs no other files and no network.

    Args:
        path: Output file, created with mode 0600; missing folders are created with mode 0700 and a
            warning, but not in the root of the file system.
        cell: Cell that the states of the recording belong to.
        recording: Recorded states and segments.
        title: Title of the page; the name of the cell if empty.
        rate: Approximate max number of moments per second [Hz], limited to 20 000 in total, besides those at changes
            of attachment and visibility; the page interpolates between them.
        trajectories: Trajectories by name, whose curves are plotted over each other against the limits of the joints,
            and whose tool paths are drawn; their times are those since the begin of the recording.
        certified: Path to draw in the colours of its verdicts (`certified_path`).

    Raises:
        FileError: The file cannot be written.
        InvalidValueError: The rate is not positive, or more than 40 000 moments remain because of changes of attachment
            or visibility.
        GeometryError: A mesh cannot be read, or a collision shape cannot be built.
        StateError, UnknownNameError: A state of the recording, or a trajectory, does not match the cell.
    """
    text = page(cell, recording, title, rate, trajectories, certified)
    target = Path(path)
    try:
        make_output_folder(target)
        write_private_text(target, text)
    except (OSError, UnicodeEncodeError) as error:
        raise FileError.of(target, error, STAGE) from error
    return target


def page(
    cell: RobotCell,
    recording: Recording,
    title: str = "",
    rate: float = 50.0,
    trajectories: Mapping[str, Trajectory] = frozendict(),
    certified: CertifiedPath | None = None,
) -> str:
    """Return the text of the page; see `write_html`."""
    block = Block()
    shown = recording.thinned(min(rate, MAX_MOMENTS / max(recording.duration, 1.0)))
    if len(shown.moments) > 2 * MAX_MOMENTS:
        text = f"the recording has {len(shown.moments)} moments next to changes of attachment or visibility"
        raise InvalidValueError(f"{text}, more than a page shows ({2 * MAX_MOMENTS})")
    for moment in shown.moments:
        cell.check_state(moment.state)
    contents = {
        **replay(cell, shown, title or cell.name, block),
        "checks": checks(cell, shown.moments),
        "curves": curves(cell, shown.moments[0].state, trajectories, block),
        "limits": limits(cell),
        "certificate": certificate(certified, block),
    }
    values = {
        "title": html.escape(title or cell.name),
        "style": _asset("style.css"),
        "replay": _json_for_html(contents),
        "block": block.text(),
        "scripts": "\n".join(_asset(name) for name in SCRIPTS),
    }
    return PLACEHOLDER.sub(lambda match: values[match[1]], _asset("page.html"))


@lru_cache(maxsize=16)
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _json_for_html(value: object) -> str:
    """Return JSON that cannot end the script element that contains it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def replay(cell: RobotCell, recording: Recording, title: str, block: Block) -> dict[str, object]:
    """Return the content of the page as JSON; arrays are added to the block."""
    moments = recording.moments
    scene_objects = tuple(visible_objects(cell))
    tool_points = [tool.tcp_frame for tool in cell.tools.values()]
    paths = {track.frame: track for track in tracks(cell, moments, [*(t.frame for t in scene_objects), *tool_points])}
    shown = visibility(moments)
    meshes = _Meshes(block)
    start = moments[0].time
    return {
        "format": FORMAT,
        "title": title,
        "cell": cell.name,
        "times": block.add(np.array([moment.time - start for moment in moments]), "float32"),
        "objects": [
            {
                **_object_entry(scene_object, meshes),
                **_layers(cell, scene_object, meshes, block),
                "track": _track(paths[scene_object.frame], block),
                "shown": shown.get(scene_object.object_name, []),
            }
            for scene_object in scene_objects
        ],
        "tool_points": [{"frame": name, "track": _track(paths[name], block)} for name in tool_points],
        "meshes": meshes.entries,
        "segments": [
            {"name": s.name, "start": s.start - start, "end": s.end - start, "facts": dict(s.facts)}
            for s in recording.segments
        ],
        "events": [{"time": event.time - start, "text": event.text} for event in events(recording)],
        "summary": dict(recording.summary),
        "joints": [
            {
                "name": series.variable.name,
                "angular": series.variable.angular,
                "lower": _finite(series.variable.limits.lower),
                "upper": _finite(series.variable.limits.upper),
                "values": block.add(series.values, "float32"),
            }
            for series in joint_series(cell, moments)
        ],
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _track(track: Track, block: Block) -> dict[str, object]:
    return block.add(track.poses, "float32")


def _object_entry(scene_object: VisibleObject, meshes: _Meshes) -> dict[str, object]:
    parts = [part for shape, rgba in scene_object.shapes for part in _parts(shape, rgba, meshes)]
    return {"frame": scene_object.frame, "object": scene_object.object_name, "kind": scene_object.kind, "parts": parts}


def _layers(cell: RobotCell, scene_object: VisibleObject, meshes: _Meshes, block: Block) -> dict[str, object]:
    """Return the collision geometry, the safety margin and the sphere approximation of an object."""
    margin = margin_of(cell, scene_object.frame, scene_object.object_name)
    shapes = scene_object.collisions
    spheres = sphere_rows(shapes) if shapes else np.empty((0, 4))
    return {
        "collisions": [part for shape in shapes for part in _collision_parts(shape, meshes)],
        "margins": [part for shape in shapes if margin for part in meshes.parts(margin_surfaces(shape, margin))],
        "spheres": block.add(spheres, "float32"),
    }


def _collision_parts(shape: Shape, meshes: _Meshes) -> list[dict[str, object]]:
    if isinstance(shape.geometry, (Mesh, Triangles)):
        return meshes.parts(collision_surfaces(shape))
    return _parts(shape, None, meshes)


def _parts(shape: Shape, rgba: Rgba | None, meshes: _Meshes) -> list[dict[str, object]]:
    geometry = shape.geometry
    pose = _numbers(shape.pose)
    if isinstance(geometry, (Mesh, Triangles)):
        return [
            {"type": "mesh", "mesh": index, "pose": pose, "rgba": rgba or own or LINK_COLOUR}
            for index, own in meshes.add(geometry)
        ]
    return [{**_primitive(geometry), "pose": pose, "rgba": rgba}]


def _primitive(geometry: Box | Sphere | Cylinder | Capsule | Cone) -> dict[str, object]:
    if isinstance(geometry, Box):
        return {"type": "box", "size": geometry.size}
    if isinstance(geometry, Sphere):
        return {"type": "sphere", "radius": geometry.radius}
    kind = {Cylinder: "cylinder", Capsule: "capsule", Cone: "cone"}[type(geometry)]
    return {"type": kind, "radius": geometry.radius, "length": geometry.length}


def _numbers(pose: Pose) -> list[float]:
    return [*pose.position, *pose.quaternion]


class _Meshes:
    """Surfaces of all meshes, each written once. Vertices are quantised to 1/65535 of the surface's extent."""

    def __init__(self, block: Block) -> None:
        self.entries: list[dict[str, object]] = []
        self._block = block
        self._known: dict[Mesh | Triangles, list[tuple[int, Rgba | None]]] = {}

    def add(self, mesh: Mesh | Triangles) -> list[tuple[int, Rgba | None]]:
        """Return index and colour of each surface of a mesh."""
        if mesh not in self._known:
            self._known[mesh] = [(self._write(surface), surface.rgba) for surface in surfaces(mesh)]
        return self._known[mesh]

    def parts(self, found: Iterable[Surface]) -> list[dict[str, object]]:
        """Write surfaces that are in the frame of their object, and return them as parts without a colour."""
        pose = _numbers(IDENTITY)
        return [{"type": "mesh", "mesh": self._write(surface), "pose": pose, "rgba": None} for surface in found]

    def _write(self, surface: Surface) -> int:
        low = surface.vertices.min(axis=0)
        step = np.maximum(np.ptp(surface.vertices, axis=0), 1e-9) / 65535.0
        grid = np.round((surface.vertices - low) / step)
        places, corner = np.unique(grid, axis=0, return_inverse=True)
        faces = corner.reshape(-1)[surface.faces]
        self.entries.append(
            {
                "low": low.tolist(),
                "step": step.tolist(),
                "vertices": self._block.add(places, "uint16"),
                "faces": self._block.add(faces, "uint16" if len(places) < 65536 else "uint32"),
            }
        )
        return len(self.entries) - 1
