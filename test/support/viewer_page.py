"""The live viewer's page as a browser sees it: its WebSocket, read and written by a thread."""

from __future__ import annotations

import re
import threading
from importlib.metadata import version

import msgspec
import numpy as np
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 1.0, 1.0), "fov": 1.0, "near": 0.01,
    "far": 100.0, "image_height": 600, "image_width": 800, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip
PLACED = {"position": (0.0, 0.0, 0.0), "wxyz": (1.0, 0.0, 0.0, 0.0), "visible": True}
CREATED = "props"  # a message that has them creates a node or an element


class Page:
    """A browser that shows the page.

    nodes: of the scene by name; elements: of the panel by uuid; each has the properties that it was created and updated
    with, nodes also `position`, `wxyz` and `visible`. output: all HTML that the panel was updated with, in order.
    """

    def __init__(self, port, origin=None):
        address, protocol = f"ws://127.0.0.1:{port}", f"viser-v{version('viser')}"
        timeouts = {"open_timeout": 120.0, "ping_interval": None}  # however busy the computer is
        self._socket = connect(
            address, subprotocols=[protocol], origin=origin, compression=None, max_size=None, **timeouts
        )
        self._changed = threading.Condition()
        self.nodes, self.elements = {}, {}
        self.messages, self.output = 0, []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.send(**CAMERA)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._socket.close()
        self._reader.join(30.0)

    def send(self, **message):
        self._socket.send(msgspec.msgpack.encode(message))

    def _read(self):
        try:
            for data in self._socket:
                packed = int.from_bytes(data[8:16], "little")
                content = msgspec.msgpack.decode(zstandard.decompress(data[16 : 16 + packed]))
                buffers = _buffers(data, 16 + packed, content["binaryBufferLengths"])
                with self._changed:
                    for message in content["messages"]:
                        self._take(_with_arrays(message, buffers))
                    self.messages += len(content["messages"])
                    self._changed.notify_all()
        except ConnectionClosed:
            return

    def _take(self, message):
        kind, name = message["type"], message.get("name")
        if kind == "GuiUpdateMessage":
            self.elements.get(message["uuid"], {}).update(message["updates"])
            self.output.append(str(message["updates"].get("content", "")))
        elif kind == "GuiRemoveMessage":
            self.elements.pop(message["uuid"], None)
        elif CREATED in message and "uuid" in message:
            own = {key: value for key, value in message.items() if key != CREATED}
            self.elements[message["uuid"]] = {**own, **message[CREATED]}
        elif CREATED in message:
            retained = {key: self.nodes.get(name, {}).get(key, value) for key, value in PLACED.items()}
            self.nodes[name] = {"type": kind, **message[CREATED], **retained}
        elif kind == "RemoveSceneNodeMessage":
            for each in [each for each in self.nodes if each == name or each.startswith(f"{name}/")]:
                del self.nodes[each]
        elif name is not None:
            own = {key: value for key, value in message.items() if key not in ("type", "name", "updates")}
            self.nodes.setdefault(name, {}).update(own | message.get("updates", {}))

    def wait_for(self, condition, what, timeout=120.0):
        """Wait until a condition of this page holds; returns what it returned."""
        with self._changed:
            found = self._changed.wait_for(lambda: condition(self), timeout)
        assert found, f"the page does not show {what}: {self.texts()[:3000]}"
        return found

    def texts(self):
        """All HTML of the panel."""
        return " ".join(str(each.get("content", "")) for each in list(self.elements.values()))

    def wait_for_text(self, text, timeout=120.0):
        return self.wait_for(lambda page: text in page.texts(), repr(text), timeout)

    def wait_for_output(self, pattern, timeout=120.0):
        """Wait until the panel shows text that matches a regular expression, since the last call with a match."""

        def match(page):
            place = next((place for place, text in enumerate(page.output) if re.search(pattern, text)), None)
            if place is not None:
                del page.output[: place + 1]
            return place is not None

        self.wait_for(match, f"{pattern!r} after the last match, but {self.output}", timeout)

    def element(self, label):
        """Return the only element with a label, when there is one."""
        (found,) = self.wait_for(lambda page: page._elements(label), f"an element {label!r}")
        return found

    def _elements(self, label):
        return [each for each in self.elements.values() if each.get("label") == label]

    def set(self, label, value):
        """Change an element: press a button (True), switch a checkbox, choose an entry of a dropdown."""
        self.send(type="GuiUpdateMessage", uuid=self.element(label)["uuid"], updates={"value": value})

    def press(self, label):
        self.set(label, True)

    def drag(self, name, position, wxyz):
        """Drag a handle to a pose."""
        self.send(type="TransformControlsDragStartMessage", name=name, owner="")
        self.send(type="TransformControlsUpdateMessage", name=name, position=position, wxyz=wxyz, owner="")
        self.send(type="TransformControlsDragEndMessage", name=name, owner="")

    def labels(self):
        """The texts of all labels in the scene."""
        return [each["text"] for each in list(self.nodes.values()) if each.get("type") == "LabelMessage"]


def port_of(node):
    """The port of the page of a viewer node, which it prints when it is ready."""
    return int(node.wait_for(r"http://127\.0\.0\.1:(\d+)")[1])


def object_positions(page):
    """Positions (n, 3) in the world of all objects that the page shows, sorted [m]."""
    shown = [node for name, node in page.nodes.items() if name.startswith("/objects/") and name.count("/") == 2]
    return np.array(sorted((*node["position"],) for node in shown if node["visible"]))


def _buffers(data, start, lengths):
    found = []
    for length in lengths:
        start += -start % 8
        found.append(data[start : start + length])
        start += length
    return found


def _with_arrays(value, buffers):
    """Return a message with the arrays that its placeholders stand for."""
    if isinstance(value, dict):
        if "__binary_index" in value:
            return np.frombuffer(buffers[value["__binary_index"]], np.dtype(value["dtype"]))
        return {key: _with_arrays(each, buffers) for key, each in value.items()}
    return [_with_arrays(each, buffers) for each in value] if isinstance(value, list) else value
