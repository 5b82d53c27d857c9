import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
for folder in (ROOT, Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
