"""Cells, states and plans in the output of a Jupyter notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass

from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..planning.problem.plan import Plan
from .page import page
from .plans import plan_details, plan_recording
from .recording import Moment, Recording

HEIGHT = 600  # [pixels]


@dataclass(frozen=True, eq=False)
class NotebookView:
    """Page in a frame, which a notebook shows as the value of its last line.

    Attributes:
        text: HTML of the page.
        height: Height of the frame [pixels].
    """

    text: str
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        """Return the frame; the page in it runs its own scripts, without access to the notebook."""
        content = html.escape(self.text, quote=True)
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{content}"></iframe>'


@public
def show(
    cell: RobotCell, state: RobotCellState, plan: Plan | None = None, *, title: str = "", height: int = HEIGHT
) -> NotebookView:
    """Return a view of a state, or of a plan that starts from it, for a notebook.

    ```python
    show(cell, state, plan)
    ```

    Args:
        title: Title of the page; the name of the cell if empty.
        height: Height of the frame [pixels].

    Raises:
        GeometryError: A mesh cannot be read.
        InvalidRequestError, StateError, UnknownNameError: The state does not match the cell or the plan.
    """
    recording = Recording((Moment(0.0, state),)) if plan is None else plan_recording(state, plan)
    if plan is None:
        return NotebookView(page(cell, recording, title), height)
    return NotebookView(page(cell, recording, title, **plan_details(cell, state, plan)), height)
