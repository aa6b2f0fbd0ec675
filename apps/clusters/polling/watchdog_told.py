"""Keeps what every pgpool told of the watchdog latest, and since when it tells so."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from apps.clusters.models import WatchdogLatest
from apps.clusters.polling.readings import Tick, WatchdogReading

State = WatchdogLatest.State


def note_watchdogs(tick: Tick) -> None:
    """In the transaction of the tick that brought it."""
    readings = {one.instance_id: one.watchdog for one in tick.instances if one.watchdog is not None}
    if not readings:
        return
    before = WatchdogLatest.objects.in_bulk(readings)
    WatchdogLatest.objects.bulk_create(
        [_row(pk, reading, before, tick) for pk, reading in readings.items()],
        update_conflicts=True,
        unique_fields=["instance"],
        update_fields=["asked_at", "state", "since", "reason", "told"],
    )


def _row(pk: int, reading: WatchdogReading, before: Mapping[int, WatchdogLatest], tick: Tick) -> WatchdogLatest:
    state, told = _understood(reading)
    known = before.get(pk)
    if state == State.UNKNOWN and known is not None:
        told = known.told
    is_as_before = known is not None and (known.state, known.told) == (state, told)
    since = known.since if known is not None and is_as_before else tick.at
    return WatchdogLatest(instance_id=pk, asked_at=tick.at, state=state, since=since, reason=reading.reason, told=told)


def _understood(reading: WatchdogReading) -> tuple[str, dict[str, Any]]:
    if reading.reason:
        return State.UNKNOWN, {}
    if reading.watchdog is None:
        return State.OFF, {}
    told = asdict(reading.watchdog)
    return State.ON, {**told, "nodes": list(told["nodes"])}
