"""Commands that the installation allows to restart a pgpool of this machine, by name. Nobody else writes a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from django.conf import settings


class AllowedCommand(Protocol):
    """organisation: the only one that may use it, None for all."""

    @property
    def organisation(self) -> str | None: ...

    @property
    def name(self) -> str: ...

    @property
    def argv(self) -> Sequence[str]: ...


def allowed_commands(organisation_slug: str) -> dict[str, AllowedCommand]:
    """By name; one of its own goes before one of the same name for everybody."""
    commands: Sequence[AllowedCommand] = settings.RESTART_COMMANDS
    usable = [each for each in commands if each.organisation in (None, organisation_slug)]
    usable.sort(key=lambda each: each.organisation is not None)
    return {each.name: each for each in usable}


def why_not_allowed(organisation_slug: str, name: str) -> str:
    """Empty if it is."""
    names = sorted(allowed_commands(organisation_slug))
    if not name or name in names:
        return ""
    known = f"; there are {', '.join(names)}" if names else "; LIFEGUARD_RESTART_COMMANDS names them, and is empty"
    return f"{name!r} is no restart command that this installation allows{known}"
