"""The sentences of a routing verdict: figures in, one sentence for people out."""

from collections.abc import Sequence
from datetime import datetime

# How sentences begin that do not begin with the name of a backend.
_OPENINGS = ("Reads ", "Within ", "Too little ", "Cannot ", "No reads ", "Off: ")


def as_clause(sentence: str) -> str:
    """A verdict in the middle of another sentence; a name keeps its capital letter."""
    words = sentence.rstrip(".")
    return words[0].lower() + words[1:] if words.startswith(_OPENINGS) else words


def follows(observed: Sequence[float], wanted: Sequence[float]) -> str:
    return f"Reads follow the weights: {_tenths(observed)} vs {_whole(wanted)}"


def within_noise(
    observed: Sequence[float], wanted: Sequence[float], *, draws: str, window_s: float | None, allowed: float
) -> str:
    allow = f"{draws}{_in_window(window_s)} allow ±{_points(allowed)}"
    return f"Within noise: {_whole(observed)} vs {_whole(wanted)}, {allow}"


def too_little(*, draws: str, window_s: float | None) -> str:
    return f"Too little traffic to tell: {draws}{_in_window(window_s)}"


def sessions_not_counted() -> str:
    return "Cannot tell: sessions are not counted, and pgpool draws a backend once per session"


def off(*, name: str, deviation: float, at_weight_zero: bool, since: datetime | None, cause: str | None) -> str:
    """deviation: observed minus wanted share, -1..1."""
    if at_weight_zero:
        figure = f"{name} gets {_points(deviation)} % of the reads at weight 0"
    else:
        figure = f"{name} gets {_amount(deviation)} {'less' if deviation < 0 else 'more'} than its weight"
    since_text = "" if since is None else f" since {since:%H:%M}"
    return f"{figure}{since_text}{'' if cause is None else f'; {cause}'}"


def lag_cause(lag_text: str | None) -> str:
    shown = "" if lag_text is None else f" ({lag_text})"
    return f"its replay lag{shown} is over delay_threshold"


def past_lag_cause(until: datetime) -> str:
    return f"its replay lag was over delay_threshold until {until:%H:%M}"


def unbalanced_cause() -> str:
    return "the primary also takes the reads that cannot be balanced"


def earlier_sessions_cause() -> str:
    return "sessions from before the change may still be open"


def no_weight_up(*, all_weights_zero: bool) -> str:
    if all_weights_zero:
        return "Off: all weights are 0, so pgpool sends every read to one backend"
    return "Off: no backend with a weight above 0 is up"


def away(names: Sequence[str]) -> str:
    return f"; {listed(names)} {'is' if len(names) == 1 else 'are'} down" if names else ""


def left_out(instance_names: Sequence[str]) -> str:
    return f" Sessions of {listed(instance_names)} are not counted." if instance_names else ""


def overall(observed: Sequence[float], wanted: Sequence[float]) -> str:
    return f"over all pgpools {_tenths(observed)} vs {_whole(wanted)}"


def counted(draws: float, *, statement_level: bool) -> str:
    """ "41 sessions", "1 read", "no sessions"."""
    noun = "read" if statement_level else "session"
    number = round(draws)
    return f"{number:,} {noun}" if number == 1 else f"{f'{number:,}' if number else 'no'} {noun}s"


def unequal(sessions: float | None, draws: float) -> str:
    """Sessions of which a few send most of the reads, or that nobody counted: "905 sessions that weigh like 350"."""
    if sessions is None:
        return f"reads that weigh like {counted(draws, statement_level=False)}"
    return f"{counted(sessions, statement_level=False)} that weigh like {draws:,.0f}"


def more_needed(missing: int, *, in_reads: bool) -> str:
    return f"Needs about {missing:,} more {'read' if in_reads else 'session'}{'' if missing == 1 else 's'}."


def not_measured_yet() -> str:
    return "How far the shares move tells it instead, once there were about 5 min of reads under the same weights."


def listed(names: Sequence[str]) -> str:
    """ "pg1", "pg1 and pg2", "pg1, pg2 and pg3"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _in_window(window_s: float | None) -> str:
    if window_s is None:
        return ""
    if window_s % 3600 == 0:
        return f" in {window_s / 3600:g} h"
    return f" in {window_s / 60:g} min" if window_s % 60 == 0 else f" in {window_s:g} s"


def _amount(share: float) -> str:
    points = _points(share)
    return f"{points} point" if points == "1" else f"{points} points"


def _points(share: float) -> str:
    points = abs(share) * 100
    return f"{points:.0f}" if points >= 9.5 or round(points, 1) == round(points) else f"{points:.1f}"


def _whole(shares: Sequence[float]) -> str:
    # 0.4 % must not read as 0, nor 99.6 % as 100.
    fine = any(0 < share < 0.01 or 0.99 < share < 1 for share in shares)
    return _tenths(shares) if fine else " / ".join(f"{share * 100:.0f}" for share in shares)


def _tenths(shares: Sequence[float]) -> str:
    return " / ".join("100" if share == 1 else f"{share * 100:.1f}" for share in shares)
