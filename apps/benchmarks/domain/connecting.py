"""The rate with the time to connect in it."""

from __future__ import annotations


def tps_with_connecting(*, tps: float | None, transactions: int | None, connect_ms: float | None) -> float | None:
    """tps: without the time to connect. connect_ms: until all clients were connected, before the first transaction.

    Every client connects once, so the longer a run, the less it is. None where a figure is missing.
    """
    if not tps or not transactions or connect_ms is None:
        return None
    return transactions / (transactions / tps + connect_ms / 1000)
