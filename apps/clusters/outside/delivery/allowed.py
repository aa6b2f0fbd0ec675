"""Which files local delivery may touch: those inside the directories that the installation allows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol


class AllowedDirectory(Protocol):
    """organisation: the only one that may use it, None for all."""

    @property
    def organisation(self) -> str | None: ...

    @property
    def path(self) -> Path: ...


class PathRefused(ValueError):
    """This file may not be delivered to."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def allowed_directory(path: str, organisation_slug: str, directories: Iterable[AllowedDirectory]) -> Path:
    """The file behind path, symbolic links resolved, if this organisation may write it. Raises PathRefused.

    Whether a file exists outside the allowed directories is not told: the refusal reads the same.
    """
    asked = Path(path)
    if not asked.is_absolute() or "\0" in path:
        raise PathRefused(path, "must be an absolute path")
    granted = [
        directory.path.resolve()
        for directory in directories
        if directory.organisation is None or directory.organisation == organisation_slug
    ]
    try:
        target = asked.resolve()
    except (OSError, RuntimeError) as error:  # a circle of links
        raise PathRefused(path, "cannot be followed to a file") from error
    if not any(target.is_relative_to(directory) for directory in granted):
        raise PathRefused(path, _outside(granted))
    if not _is_visible_file(target):
        raise PathRefused(path, "is not a file that this worker can see")
    if target.suffix != ".conf":
        raise PathRefused(path, "is not a configuration file: its name must end in .conf")
    return target


def _is_visible_file(target: Path) -> bool:
    try:
        return target.is_file()
    except OSError:  # a directory on the way that this account may not enter
        return False


def _outside(granted: list[Path]) -> str:
    if not granted:
        return "no directory is allowed for local delivery here; set LIFEGUARD_LOCAL_DELIVERY_DIRS"
    return "lies outside the directories allowed for local delivery: " + ", ".join(map(str, granted))
