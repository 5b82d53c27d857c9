"""The page on certified motions names a test for each of its statements."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "certified_motions.md").read_text()


def test_every_test_that_the_page_names_exists():
    sources = "".join(path.read_text() for path in sorted((ROOT / "test" / "core").rglob("test_*.py")))
    named = set(re.findall(r"`(test_\w+|Test\w+)`", PAGE))
    assert len(named) >= 12
    missing = [name for name in sorted(named) if not re.search(rf"(def|class) {name}\b", sources)]
    assert not missing


def test_every_statement_has_a_test():
    proven = PAGE[PAGE.index("## The proof") : PAGE.index("## Assumptions")]
    statements = re.split(r"\n\d+\. ", proven)[1:]
    assert len(statements) == 12
    assert all("`test_" in text or "`Test" in text for text in statements)
