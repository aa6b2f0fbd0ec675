"""What every way of delivery answers, and how each of them fails."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from apps.clusters.outside.pcp import PcpAddress, PcpError, reload_config

LARGEST_FILE_BYTES = 1 << 20


@dataclass(frozen=True)
class LiveFile:
    """text keeps its line ends. mode as "0640", owner as "postgres:postgres"; both empty where nobody can look."""

    text: str
    sha256: str
    mode: str
    owner: str


@dataclass(frozen=True)
class ReloadReceipt:
    channel: Literal["pcp", "signal", "by hand"]
    note: str


class FileUnreadable(Exception):
    """The live file could not be read."""


class FileChanged(Exception):
    """The live file is not the one this change was made from: somebody edited it meanwhile."""

    def __init__(self, path: PurePath, expected_sha256: str, found_sha256: str) -> None:
        super().__init__(f"{path} was changed meanwhile: its hash is {found_sha256[:12]}, not {expected_sha256[:12]}")
        self.path = path
        self.expected_sha256 = expected_sha256
        self.found_sha256 = found_sha256


class WriteFailed(Exception):
    """The file could not be replaced; the live one is as it was."""


class ReloadFailed(Exception):
    """pgpool could not be told to read its file again."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


def reload_by_pcp(pcp: PcpAddress, *, deadline_s: float) -> ReloadReceipt:
    """The same for every way that a file came by: PCP is asked over the network. Raises ReloadFailed."""
    try:
        asyncio.run(reload_config(pcp, deadline_s=deadline_s))
    except PcpError as error:
        raise ReloadFailed(str(error), error.fix) from error
    return ReloadReceipt("pcp", f"pcp_reload_config at {pcp.host}:{pcp.port}")


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def as_text(content: bytes, place: object) -> str:
    """Raises FileUnreadable, with the line that is no text."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileUnreadable(f"{place}, line {line}, is not UTF-8 text") from error


def leads_elsewhere(found: str, target: str | None) -> str:
    """Why a link that was moved is not followed."""
    return f"leads to {found} now, and led to {target} when it was registered. Save its delivery again to use it."
