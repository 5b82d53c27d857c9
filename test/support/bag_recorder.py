"""`robot_cell record` in a process of its own."""

import subprocess
import threading

from robot_cell_planner.nodes.recording.recorder import NAME


class BagRecorder:
    """A recorder that runs until it is finished."""

    def __init__(self, folder, domain, *words, **keywords):
        command = ["robot_cell", "record", str(folder), "--domain-id", str(domain), *words]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **keywords
        )

    def finish(self, number=None):
        """Exit status, standard output, standard error."""
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


def wait_until_recorded(client, *topics):
    """Wait until the recorder has subscribed to topics."""
    tries = threading.Event()
    for topic in map(client.node.resolve_topic_name, topics):
        while NAME not in {each.node_name for each in client.node.get_subscriptions_info_by_topic(topic)}:
            tries.wait(0.05)
