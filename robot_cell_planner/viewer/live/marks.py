"""Lines, points and labels over the scene: contacts, the closest pair, and paths of the tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import viser
from numpy.typing import NDArray

from ...collision.certification.certificate import Verdict
from ..overlays import CERTIFIED, CLOSE, COLLIDING, UNCERTIFIED, Colour, PairMark, speed_colours
from ..tool_paths import CertifiedPath, ToolPath

Number = TypeVar("Number", np.float64, np.uint8)
LINE, POINT = 0.004, 0.012  # [m]
LIFT = 0.006  # [m] between the path coloured by speed and that coloured by certificates, which is above
NOT_TIMED: Colour = (59, 82, 139)
VERDICT_COLOURS: dict[Verdict | None, Colour] = {
    Verdict.FREE: CERTIFIED,
    Verdict.UNDECIDED: UNCERTIFIED,
    Verdict.COLLIDING: COLLIDING,
    None: UNCERTIFIED,
}
CONTACTS, CLOSEST, SPEED, CERTIFICATE, RUNNING = "contacts", "closest pair", "speed", "certificate", "running motion"
MARKS = (CONTACTS, CLOSEST, SPEED, CERTIFICATE, RUNNING)


class Marks:
    """Marks in layers that can be hidden; each `show_` method replaces what its layer had."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._layers = {name: scene.add_frame(f"/marks/{_slug(name)}", show_axes=False) for name in MARKS}
        self._nodes: dict[str, list[viser.SceneNodeHandle]] = {name: [] for name in MARKS}

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer of MARKS."""
        self._layers[layer].visible = visible

    def show_pairs(self, layer: str, marks: Sequence[PairMark]) -> None:
        """Show pairs in CONTACTS or CLOSEST: a line between both points of each contact, with the label at one. Nothing
        is drawn of a pair without points of contact."""
        self._clear(layer)
        marks = [mark for mark in marks if mark.segments]
        if not marks:
            return
        segments = np.array([segment for mark in marks for segment in mark.segments])
        colour = COLLIDING if layer == CONTACTS or marks[0].colliding else CLOSE
        nodes = self._nodes[layer]
        nodes.append(self._lines(layer, segments, np.array(colour, dtype=np.uint8)))
        nodes.append(
            self._scene.add_point_cloud(
                self._name(layer), segments.reshape(-1, 3), colour, point_size=POINT, point_shape="circle"
            )
        )
        for mark in marks:
            place = np.mean(mark.segments[0], axis=0)
            nodes.append(self._scene.add_label(self._name(layer), mark.label, position=place))

    def show_path(self, layer: str, path: ToolPath | None) -> None:
        """Show the path of a tool in SPEED or RUNNING, coloured by its speed."""
        self._clear(layer)
        if path is None or len(path.points) < 2:
            return
        colours = np.tile(np.array(NOT_TIMED, dtype=np.uint8), (len(path.points), 1))
        if path.speeds is not None:
            colours = speed_colours(path.speeds)
        self._nodes[layer].append(self._lines(layer, _pairs(path.points), _pairs(colours)))

    def show_certificate(self, path: CertifiedPath | None) -> None:
        """Show which lines of a path are certified."""
        self._clear(CERTIFICATE)
        if path is None or not path.verdicts:
            return
        colours = np.array([VERDICT_COLOURS[verdict] for verdict in path.verdicts], dtype=np.uint8)
        points = _pairs(path.points) + np.array((0.0, 0.0, LIFT))
        self._nodes[CERTIFICATE].append(self._lines(CERTIFICATE, points, np.repeat(colours[:, None], 2, axis=1)))

    def _lines(self, layer: str, points: NDArray[np.float64], colours: NDArray[np.uint8]) -> viser.LineSegmentsHandle:
        return self._scene.add_line_segments(self._name(layer), points, colours, thickness=LINE)

    def _name(self, layer: str) -> str:
        return f"{self._layers[layer].name}/{len(self._nodes[layer])}"

    def _clear(self, layer: str) -> None:
        for node in self._nodes[layer]:
            node.remove()
        self._nodes[layer].clear()


def _pairs(rows: NDArray[Number]) -> NDArray[Number]:
    """Return (n - 1, 2, k) of rows (n, k): the ends of the lines between them."""
    return np.stack([rows[:-1], rows[1:]], axis=1)


def _slug(name: str) -> str:
    return name.replace(" ", "_")
