"""The blocks of code in README.md and docs/."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import dropwhile

from sources import ROOT

PAGES = {path.stem: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
STATUS = re.compile(r"# exit status (\d)")
VARIABLE = re.compile(r"[A-Z_]+=")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    """A block of a page; number: among those of its language, from 0."""

    page: str
    language: str
    number: int
    text: str

    def __str__(self):
        return f"{self.page}-{self.language}-{self.number}"

    @property
    def commands(self):
        """The words of each command line, without prompts and variables, and the exit status in its comment."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line[1:] for line in lines if line.startswith("$")]
        found = []
        for line in lines:
            status = STATUS.search(line)
            found += [(words, int(status[1]) if status else 0) for words in _joined(shlex.split(line, comments=True))]
        return found


def _joined(words):
    """The command lines of a line with `&&`."""
    found = [[]]
    for word in words:
        if word == "&&":
            found.append([])
        else:
            found[-1].append(word)
    kept = [[word for word in line if word != "&"] for line in found]
    return [list(dropwhile(VARIABLE.match, line)) for line in kept if line]


def snippets(page):
    """All blocks of a page, in their order."""
    counts, found = {}, []
    for language, text in FENCED.findall(PAGES[page].read_text(encoding="utf-8")):
        found.append(Snippet(page, language, counts.setdefault(language, 0), text))
        counts[language] += 1
    return found


def snippet(page, language, number=0):
    """One block of a page."""
    return next(block for block in snippets(page) if (block.language, block.number) == (language, number))
