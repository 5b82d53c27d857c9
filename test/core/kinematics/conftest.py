import sys
from pathlib import Path

# At the end, so that the package is found where its compiled kernels belong to, and not in the root of the repository.
for folder in (Path(__file__).parent, Path(__file__).resolve().parents[3]):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
