"""Images of environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..simulation.camera_view import CameraView
from ..simulation.simulated_cell import SimulatedCell

if TYPE_CHECKING:
    import tkinter

FRAMES_PER_SECOND = 10
WIDTH, HEIGHT = 480, 360
GOAL_SIZE = 4  # [pixels]

Image = NDArray[np.uint8]


class Renderer:
    """Images of a simulation from a fixed point of view, and a window for them."""

    def __init__(self, window: bool) -> None:
        self._window = window
        self._root: tkinter.Tk | None = None
        self._label: tkinter.Label | None = None
        self._photo: tkinter.PhotoImage | None = None

    def show(self, simulated: SimulatedCell, goal: NDArray[np.float64] | None) -> Image | None:
        """Return an image (HEIGHT, WIDTH, 3), or show it in the window; a goal is marked green."""
        view = CameraView.around(*simulated.bounds(), WIDTH, HEIGHT)
        image = simulated.image(view).rgb.copy()
        if goal is not None:
            column, row = view.pixel(goal)
            if 0 <= row < HEIGHT and 0 <= column < WIDTH:
                image[max(row - GOAL_SIZE, 0) : row + GOAL_SIZE, max(column - GOAL_SIZE, 0) : column + GOAL_SIZE] = (
                    30, 180, 60,
                )  # fmt: skip
        if not self._window:
            return image
        self._put(image)
        return None

    def _put(self, image: Image) -> None:
        import tkinter  # not everywhere installed, and needed for windows only

        if self._root is None:
            self._root = tkinter.Tk()
            self._root.title("robot_cell_planner")
            self._label = tkinter.Label(self._root)
            self._label.pack()
        assert self._label is not None
        header = b"P6 %d %d 255 " % (image.shape[1], image.shape[0])
        self._photo = tkinter.PhotoImage(data=header + image.tobytes(), format="PPM")
        arguments: dict[str, Any] = {"image": self._photo}
        self._label.configure(**arguments)
        self._root.update()

    def close(self) -> None:
        """Close the window."""
        if self._root is not None:
            self._root.destroy()
            self._root = None
