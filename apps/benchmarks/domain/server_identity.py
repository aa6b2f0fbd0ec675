"""Which server a session came to, and to which of its databases, as it tells itself; held against the primary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerIdentity:
    """system_identifier: made by initdb, the same at a primary and its standbys, and at copies of a base backup.

    started_at: of its postmaster, to the microsecond, UTC. address: as 10.0.0.1:5432, "" of a session by a socket.
    Source: PostgreSQL manual, pg_control_system, pg_postmaster_start_time.
    """

    system_identifier: str
    database: str
    is_in_recovery: bool
    started_at: str
    address: str = ""

    @property
    def where(self) -> str:
        return self.address or "what is there"


def difference(found: ServerIdentity, primary: ServerIdentity, *, primary_name: str) -> str:
    """What another server or database is there, with both; "" where it is the primary, or a standby of it.

    primary_name: for people, as pg1 (10.0.0.1:5432).
    """
    if found.system_identifier != primary.system_identifier:
        return (
            f"another server: {found.where} has the system identifier {found.system_identifier}, "
            f"the primary {primary_name} has {primary.system_identifier}"
        )
    if found.database != primary.database:
        return f"another database: {found.database} at {found.where}, not {primary.database} as at {primary_name}"
    # Of two that take writes each is a server of its own, whatever both were copied from.
    if not found.is_in_recovery and not primary.is_in_recovery and found.started_at != primary.started_at:
        return (
            f"another server: {found.where} has the system identifier of the primary {primary_name}, as a copy has, "
            f"but takes writes itself, and runs since {found.started_at} UTC, "
            f"the primary since {primary.started_at} UTC"
        )
    return ""
