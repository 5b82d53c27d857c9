"""The interfaces of underlay/ are identical on the wire to those of the public packages."""

import json
import os
import re
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory
from running import ROOT

ROW = re.compile(r"^\| `(\S+)` \| ([^|]+) \| `(RIHS01_[0-9a-f]{64})` \|$", re.MULTILINE)
DISTRIBUTIONS = {"jazzy", "kilted"}


def public():
    """Hashes of the public packages by type, of docs/type_hashes.md. Where they depend on the distribution: those
    of the sourced one, or of any if it is not listed."""
    sourced, found = os.environ.get("ROS_DISTRO", ""), {}
    for name, package, digest in ROW.findall((ROOT / "docs" / "type_hashes.md").read_text(encoding="utf-8")):
        distribution = package.rpartition(", ")[2].lower()
        if sourced not in DISTRIBUTIONS or distribution not in DISTRIBUTIONS - {sourced}:
            found.setdefault(name, set()).add(digest)
    return found


PUBLIC = public()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_type_hash_is_the_public_one(name):
    package, kind, interface = name.split("/")
    description = Path(get_package_share_directory(package), kind, f"{interface}.json")
    hashes = {entry["type_name"]: entry["hash_string"] for entry in json.loads(description.read_text())["type_hashes"]}
    assert hashes[name] in PUBLIC[name]


def test_every_interface_of_the_underlay_is_compared():
    underlay = ROOT / "underlay"
    interfaces = [path for kind in ("msg", "srv", "action") for path in underlay.glob(f"*/{kind}/*.{kind}")]
    names = {f"{path.parts[-3]}/{path.parts[-2]}/{path.stem}" for path in interfaces}
    assert names == set(PUBLIC)
