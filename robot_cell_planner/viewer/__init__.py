"""Replays: what happened in a cell, as one HTML file that plays in any browser, offline."""

from .page import write_html
from .recording import Moment, Recorder, Recording, Segment

__all__ = ["Moment", "Recorder", "Recording", "Segment", "write_html"]
