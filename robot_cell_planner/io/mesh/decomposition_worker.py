"""Worker process that runs V-HACD on an OBJ file; arguments: source, target, log."""

from __future__ import annotations

import sys

import pybullet


def main() -> None:
    source, target, log = sys.argv[1:4]
    pybullet.vhacd(source, target, log, resolution=100_000, concavity=0.001, maxNumVerticesPerCH=64)


if __name__ == "__main__":
    main()
