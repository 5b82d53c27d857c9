"""The RViz configuration subscribes to the topics of the nodes."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
DISPLAYS = yaml.safe_load((ROOT / "config" / "cell.rviz").read_text())["Visualization Manager"]["Displays"]


def test_every_topic_is_published_and_latched():
    interfaces = (ROOT / "docs" / "interfaces.md").read_text()
    topics = [display.get("Topic") or display.get("Description Topic") for display in DISPLAYS]
    names = [topic["Value"] for topic in topics if topic]
    assert names == ["robot_description", "scene/markers", "planning/markers", "collision/contacts"]
    for topic in filter(None, topics):
        row = re.search(rf"^\| `{topic['Value']}` \| topic, out \|.*$", interfaces, re.MULTILINE)
        assert row, topic["Value"]
        assert "latched" in row.group()
        assert topic["Durability Policy"] == "Transient Local"


def test_the_fixed_frame_is_the_world():
    settings = yaml.safe_load((ROOT / "config" / "cell.rviz").read_text())["Visualization Manager"]
    assert settings["Global Options"]["Fixed Frame"] == "world"
    assert {display["Class"].split("/")[0] for display in DISPLAYS} == {"rviz_default_plugins"}
