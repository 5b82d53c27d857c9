"""A lack of threads, as at the limit of a user or a container."""

import threading


class ThreadShortage:
    """While `active`, no thread starts whose name is one of `names`.

    Args:
        monkeypatch: Fixture of pytest, which ends the shortage.
        names: Names of threads.
    """

    def __init__(self, monkeypatch, *names):
        self.active = True
        start = threading.Thread.start

        def start_or_fail(thread):
            if self.active and thread.name in names:
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_or_fail)
