"""`robot_cell record` in a process of its own."""

import subprocess
import threading

from robot_cell_planner.nodes.recording.recorder import NAME


class BagRecorder:
    """A recorder that runs until it is finished."""

    def __init__(self, folder, domain, *words, **keywords):
        command = ["robot_cell", "record", str(folder), "--domain-id", str(domain), *words]
        keywords = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | keywords
        self.process = subprocess.Popen(command, text=True, start_new_session=True, **keywords)

    def finish(self, number=None):
        """Exit status, standard output, standard error."""
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err

    def wait_until_subscribed(self, client, *topics):
        """Wait until the recorder has subscribed to topics.

        Raises:
            RuntimeError: The recorder has ended.
        """
        tries = threading.Event()
        for topic in map(client.node.resolve_topic_name, topics):
            while NAME not in {each.node_name for each in client.node.get_subscriptions_info_by_topic(topic)}:
                if self.process.poll() is not None:
                    status, _, err = self.finish()
                    raise RuntimeError(f"the recorder ended with status {status} before it had {topic}: {err}")
                tries.wait(0.05)
