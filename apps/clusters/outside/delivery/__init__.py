"""How a pgpool.conf reaches its pgpool: one file per way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import NoReturn, Protocol

from apps.clusters.outside.delivery.allowed import AllowedDirectory, PathRefused, allowed_directory
from apps.clusters.outside.delivery.dry_run import DryRun, DryRunRejected
from apps.clusters.outside.delivery.local import LocalFile
from apps.clusters.outside.delivery.outcomes import (
    FileChanged,
    FileUnreadable,
    LiveFile,
    ReloadFailed,
    ReloadReceipt,
    WriteFailed,
    leads_elsewhere,
)
from apps.clusters.outside.pcp import PcpAddress

__all__ = [
    "AllowedDirectory",
    "Delivery",
    "DryRun",
    "DryRunRejected",
    "FileChanged",
    "FileUnreadable",
    "LiveFile",
    "LocalFile",
    "ObserveOnly",
    "PathRefused",
    "ReloadFailed",
    "ReloadReceipt",
    "UnknownDelivery",
    "WriteFailed",
    "WritesForbidden",
    "allowed_directory",
    "delivery_for",
    "leads_elsewhere",
]


class WritesForbidden(Exception):
    """This pgpool is registered as observe only: Lifeguard neither reads nor writes its pgpool.conf."""

    def __init__(self) -> None:
        super().__init__("this pgpool is observed only; choose a delivery for its pgpool.conf to change it from here")


class UnknownDelivery(ValueError):
    """No such way of delivering a file."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"{kind!r} is no way of delivering a file; there are: observe, local, ssh, manual")
        self.kind = kind


class Delivery(Protocol):
    """None of these waits for a far side longer than a deadline that it knows: a rollout's lease must outlast it.

    write returns where the file before is kept, None where it is not kept as a file.
    """

    def read(self) -> LiveFile: ...

    def dry_run(self, text: str) -> DryRun: ...

    def write(
        self, text: str, *, expected_sha256: str, rollout_tag: str, not_after: float = ...
    ) -> PurePath | None: ...

    def reload(self, *, pcp: PcpAddress | None, deadline_s: float) -> ReloadReceipt: ...


class ObserveOnly:
    """Refuses everything."""

    def read(self) -> NoReturn:
        raise WritesForbidden

    def dry_run(self, text: str) -> NoReturn:
        raise WritesForbidden

    def write(self, text: str, *, expected_sha256: str, rollout_tag: str, not_after: float = 0) -> NoReturn:
        raise WritesForbidden

    def reload(self, *, pcp: PcpAddress | None, deadline_s: float) -> NoReturn:
        raise WritesForbidden


def delivery_for(
    *, kind: str, path: str, target: str | None, organisation_slug: str, directories: Iterable[AllowedDirectory]
) -> Delivery:
    """The ways that need nothing but the registration. target: the file that path led to when it was registered.

    Raises PathRefused (a file where this organisation may not write, or not that one any more) or UnknownDelivery.
    """
    if kind == "observe":
        return ObserveOnly()
    if kind != "local":
        raise UnknownDelivery(kind)
    found = allowed_directory(path, organisation_slug, directories)
    if str(found) != target:
        raise PathRefused(path, leads_elsewhere(str(found), target))
    return LocalFile(found)
