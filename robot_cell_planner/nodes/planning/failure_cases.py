"""Case files of failed requests, in a folder that keeps the latest ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...cases import save_case
from ...cases.case import Answer, Request, method_of
from ...errors import CancelledError, RobotCellError
from ...scene.scene import Scene
from ..common.node import CellNode
from ..common.parameters import Parameter

SUFFIX = ".case"
CASE_PARAMETERS = (
    Parameter("case_folder", "", "Folder for case files of failed requests (robot_cell reproduce); empty: none."),
    Parameter("cases_kept", 20, "Number of case files that are kept in case_folder.", 1, 10_000),
)


class FailureCases:
    """Writes failed requests to case files, in a thread of its own, one at a time; for a node with CASE_PARAMETERS."""

    def __init__(self, node: CellNode) -> None:
        folder = node.parameters["case_folder"]
        self._folder = Path(folder) if folder else None
        self._kept = int(node.parameters["cases_kept"])
        self._log = node.get_logger()
        self._writing = threading.Lock()

    @contextmanager
    def saved_on_failure(self, scene: Scene, request: Request) -> Iterator[None]:
        """Write the request to a file if the block raises a RobotCellError, except after a cancellation."""
        try:
            yield
        except CancelledError:
            raise
        except RobotCellError as error:
            self.save(scene, request, error)
            raise

    def save(self, scene: Scene, request: Request, answer: Answer) -> None:
        """Write a request with its answer, unless another one is being written."""
        if self._folder is None:
            return
        if not self._writing.acquire(blocking=False):
            self._log.warning("a case is not saved: another one is being written")
            return
        seconds, nanoseconds = divmod(time.time_ns(), 10**9)
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
        file = self._folder / f"{moment}-{nanoseconds:09d}-{method_of(request)}{SUFFIX}"
        thread = threading.Thread(target=self._write, args=(file, scene, request, answer), name="case", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # too many threads: the request still gets its own error
            self._writing.release()
            self._log.warning(f"a case is not saved: {error}")

    def _write(self, file: Path, scene: Scene, request: Request, answer: Answer) -> None:
        try:
            save_case(file, scene.cell, scene.state, request, answer)
            files = sorted(file.parent.glob(f"*{SUFFIX}"))
            for old in files[: -self._kept]:
                old.unlink(missing_ok=True)
            self._log.info(f"the failed request is saved: robot_cell reproduce {file}")
        except (RobotCellError, OSError) as error:
            self._log.warning(f"a case is not saved: {error}")
        finally:
            self._writing.release()
