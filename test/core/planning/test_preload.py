"""After the warm-up no request compiles a kernel, which would delay it by seconds."""

import json
import subprocess
import sys
from pathlib import Path

from folders import SUPPORT

ROOT = Path(__file__).parents[3]
PROGRAM = SUPPORT / "kernels_of_requests.py"


def test_no_request_compiles_anything_after_the_warm_up():
    # In a separate process, where no other kernel has been compiled. Kernels that are read from disk count as well:
    # in a new installation they are missing.
    command = [sys.executable, str(PROGRAM), str(ROOT / "config/demo/cell.yaml")]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(answer.stdout.splitlines()[-1])
    assert found["before"] > 10
    assert found["done"] >= 4
    assert found["new"] == []
