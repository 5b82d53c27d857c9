"""Entry point, see the package."""

import sys

from .run import main

sys.exit(main())
