"""What a disk has after a loss of power: only contents and directory entries for which somebody waited."""

import os
import stat
from pathlib import Path


class Disk:
    """Notes what was synchronised to disk below a folder since it was made, before the first file is written.

    renamed_early: files that got their name before their content was on the disk.
    """

    def __init__(self, monkeypatch, folder):
        self._folder = folder
        self._contents, self._entries, self.renamed_early = {}, {}, []
        self._fsync, self._replace, self._link = os.fsync, os.replace, os.link
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(os, "replace", self.replace)
        monkeypatch.setattr(os, "link", self.link)

    def fsync(self, handle):
        handle = handle if isinstance(handle, int) else handle.fileno()
        self._fsync(handle)
        status = os.fstat(handle)
        path = Path(f"/proc/self/fd/{handle}")
        if stat.S_ISDIR(status.st_mode):
            self._entries[status.st_ino] = _entries(path)
        else:
            self._contents[status.st_ino] = path.read_bytes()

    def replace(self, source, target, **options):
        self._note(source, target)
        self._replace(source, target, **options)

    def link(self, source, target, **options):
        self._note(source, target)
        self._link(source, target, **options)

    def _note(self, source, target):
        source, target = Path(source), Path(target)
        if not source.is_file() or not target.is_relative_to(self._folder):
            return
        if self._contents.get(source.stat().st_ino) != source.read_bytes():
            self.renamed_early.append(target.name)

    def lost(self):
        """Files and folders below the folder that a loss of power would take, or whose content it would change."""
        found = []
        for path in sorted(self._folder.rglob("*")):
            is_named = self._entries.get(os.stat(path.parent).st_ino, {}).get(path.name) == os.stat(path).st_ino
            if not is_named or (path.is_file() and self._contents.get(os.stat(path).st_ino) != path.read_bytes()):
                found.append(path.relative_to(self._folder).as_posix())
        return found


def _entries(folder):
    return {entry.name: entry.inode() for entry in os.scandir(folder)}
