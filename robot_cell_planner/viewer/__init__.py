"""Replays: recordings of a cell as a single HTML file that plays offline in any browser."""

from .notebook import NotebookView, show
from .page import write_html
from .plans import plan_recording
from .recording import Moment, Recorder, Recording, Segment

__all__ = ["Moment", "NotebookView", "Recorder", "Recording", "Segment", "plan_recording", "show", "write_html"]
