"""A bag of rosbag2 that is being written: format version 9, stored as MCAP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.rosbag2.errors import WriterError
from rosbags.rosbag2.storage_mcap import McapWriter

from ...errors import FileError
from ...errors.remedies import EXISTING_BAG, OF_THE_SYSTEM
from ...system.durable_files import sync_file, sync_folder
from ...system.private_files import make_folder
from .definitions import definition_of


class Bag:
    """Writes serialized messages. Its folder is made, with parents, when it is opened.

    folder: must not exist yet. notes: custom data of its metadata.

    Raises:
        FileError: The folder exists, or cannot be made or written.
    """

    def __init__(self, folder: Path, notes: Mapping[str, str]) -> None:
        self.folder = folder
        self.messages = 0
        try:
            make_folder(folder.parent)
            self._writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
            for key, value in notes.items():
                self._writer.set_custom_data(key, value)
            self._writer.open()
            self._flush()
            sync_folder(self.folder)
            sync_folder(self.folder.parent)
        except (WriterError, OSError) as error:
            raise _error(folder, "made", error, EXISTING_BAG if isinstance(error, WriterError) else "") from error

    def __enter__(self) -> Bag:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def add(self, topic: str, type_name: str, offered: Sequence[QoSProfile]) -> Connection:
        """Add a topic with the quality of service that its publishers offer.

        Raises:
            ResourceError: The type is not installed.
            FileError: The bag cannot be written.
        """
        definition = definition_of(type_name)
        try:
            return self._writer.add_connection(
                topic,
                type_name,
                msgdef=definition.text,
                rihs01=definition.hash,
                offered_qos_profiles=[*map(_to_qos, offered)],
            )
        except OSError as error:
            raise self._stopped(error) from error

    def write(self, connection: Connection, received: int, message: bytes) -> None:
        """Write a serialized message. received [ns since 1970].

        Raises:
            FileError: The bag cannot be written.
        """
        try:
            self._writer.write(connection, received, message)
        except OSError as error:
            raise self._stopped(error) from error
        self.messages += 1

    def flush(self) -> None:
        """Write what is in memory to the file, which has it then if this process is killed. rosbags keeps up to 1 MiB.

        Raises:
            FileError: The bag cannot be written.
        """
        try:
            self._flush()
        except OSError as error:
            raise self._stopped(error) from error

    def _flush(self) -> None:
        storage = self._writer.storage
        assert isinstance(storage, McapWriter)
        if storage.chunk.msgs:
            storage.close_chunk()
        storage.bio.flush()

    def sync(self) -> None:
        """As `flush`, and wait until the file is on the disk, from where it survives a loss of power.

        Raises:
            FileError: The bag cannot be written.
        """
        try:
            self._flush()
            sync_file(self._file)
        except OSError as error:
            raise self._stopped(error) from error

    @property
    def _file(self) -> Path:
        storage = self._writer.storage
        assert isinstance(storage, McapWriter)
        return Path(storage.path)

    def close(self) -> None:
        """Write the index and the metadata, and wait until all is on the disk.

        Raises:
            FileError: They cannot be written.
        """
        if self._writer.storage is None:
            return
        try:
            file = self._file
            self._writer.close()
            sync_file(file)
            sync_file(self._writer.metapath)
            sync_folder(self.folder)
        except OSError as error:
            raise self._stopped(error) from error

    def _stopped(self, error: OSError) -> FileError:
        """Close the files, and return the error; nothing more can be written."""
        with suppress(OSError):
            self._writer.abort()
        return _error(self.folder, "written", error)


def _error(folder: Path, verb: str, error: Exception, remedy: str = "") -> FileError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = f"bag {folder} cannot be {verb}: {reason}"
    number = error.errno if isinstance(error, OSError) and error.errno else 0
    return FileError(text, stage="record", subjects=(folder.name,), remedy=remedy or OF_THE_SYSTEM.get(number, ""))


def _to_qos(profile: QoSProfile) -> Qos:
    return Qos(
        QosHistory(profile.history.value),
        profile.depth,
        QosReliability(profile.reliability.value),
        QosDurability(profile.durability.value),
        _to_time(profile.deadline),
        _to_time(profile.lifespan),
        QosLiveliness(profile.liveliness.value),
        _to_time(profile.liveliness_lease_duration),
        profile.avoid_ros_namespace_conventions,
    )


def _to_time(duration: Duration) -> QosTime:
    return QosTime(*divmod(duration.nanoseconds, 10**9))
