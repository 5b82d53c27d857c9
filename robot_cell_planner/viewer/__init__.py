"""Replays: recordings of a cell as a single HTML file that plays offline in any browser."""

from .notebook import NotebookView, show
from .page import write_html
from .plans import plan_details, plan_recording
from .recording import Moment, RecordedSegment, Recorder, Recording

__all__ = [
    "Moment",
    "NotebookView",
    "RecordedSegment",
    "Recorder",
    "Recording",
    "plan_details",
    "plan_recording",
    "show",
    "write_html",
]
