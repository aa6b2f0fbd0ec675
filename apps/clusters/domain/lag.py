"""How far a standby is behind, in bytes and seconds, from what the primary and the standby themselves say.

Traps: pg_stat_replication.replay_lag is NULL while nothing is written, now() - pg_last_xact_replay_timestamp() grows
for ever then, and a standby that lost its primary has replayed all it received.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeenByPrimary:
    """The standby's row of pg_stat_replication; all None where the role lacks pg_monitor."""

    state: str | None
    lag_bytes: int | None
    replay_lag_s: float | None


@dataclass(frozen=True, slots=True)
class SaidByStandby:
    """What the standby knows: its WAL receiver, and replay held against what it received."""

    receiver_status: str | None
    replay_lag_s: float | None


@dataclass(frozen=True, slots=True)
class Lag:
    """Replay lag; an unknown figure is None, and reason says why."""

    lag_bytes: int | None
    lag_s: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DelayThreshold:
    """How far a standby may be behind before pgpool sends its reads elsewhere; 0 and None: however far.

    time_s: delay_threshold_by_time, known from Pgpool-II 4.4 on; above 0 it counts, and delay_threshold does not.
    """

    size_bytes: int | None
    time_s: float | None = None

    @property
    def is_set(self) -> bool:
        return bool(self.size_bytes or self.time_s)

    @property
    def effective_bytes(self) -> int | None:
        return None if self.time_s else self.size_bytes or None

    @property
    def effective_s(self) -> float | None:
        return self.time_s or None

    def is_exceeded(self, *, lag_bytes: int | None, lag_s: float | None) -> bool | None:
        """None: the figure that counts is not known."""
        if not self.is_set:
            return False
        if self.time_s:
            return None if lag_s is None else lag_s > self.time_s
        return None if lag_bytes is None else lag_bytes > (self.size_bytes or 0)


def standby_lag(*, primary_answered: bool, at_primary: SeenByPrimary | None, at_standby: SaidByStandby | None) -> Lag:
    """The best that both sides allow to say.

    at_primary: None where the primary has no row of this standby. at_standby: None where it did not answer.
    """
    if not primary_answered:
        return _without_primary(at_standby)
    if at_primary is None:
        return Lag(None, None, "not connected to the primary: pg_stat_replication has no row of it")
    if at_primary.state is None:
        return Lag(None, None, "hidden from this role: GRANT pg_monitor lets it see pg_stat_replication")
    if at_primary.lag_bytes is None:
        return Lag(None, at_primary.replay_lag_s, "the standby has not reported what it replayed yet")
    return _with_row(at_primary, at_primary.lag_bytes, at_standby)


def _with_row(at_primary: SeenByPrimary, lag_bytes: int, at_standby: SaidByStandby | None) -> Lag:
    if at_primary.state != "streaming":
        return Lag(lag_bytes, at_primary.replay_lag_s, f"not streaming yet: {at_primary.state}")
    if at_primary.replay_lag_s is not None:
        return Lag(lag_bytes, at_primary.replay_lag_s)
    if lag_bytes <= 0:
        return Lag(0, 0.0)  # NULL means caught up here: nothing was written for a while
    if at_standby is not None and at_standby.replay_lag_s is not None and at_standby.receiver_status == "streaming":
        return Lag(lag_bytes, at_standby.replay_lag_s)
    return Lag(lag_bytes, None, "the primary has not measured it yet")


def _without_primary(at_standby: SaidByStandby | None) -> Lag:
    if at_standby is None:
        return Lag(None, None, "neither the primary nor the standby answered")
    if at_standby.receiver_status != "streaming":
        return Lag(None, None, "cut off: no primary streams to it")
    return Lag(None, at_standby.replay_lag_s, "as the standby says: the primary did not answer")
