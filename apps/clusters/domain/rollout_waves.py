"""How a rollout goes about its instances: which of them together, in which order, and how long it looks in between."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from apps.clusters.domain.guards import Guards

LONGEST_HOLD_S = 86_400
# The largest that a guard may be set to: a day behind, a million times as slow.
_LARGEST = {"replay_lag_s": 86_400.0, "error_factor": 1e6, "latency_factor": 1e6, "aborted": 1e6}


class Strategy(StrEnum):
    ONE_BY_ONE = "one_by_one"
    CANARY = "canary"  # one first, then the others
    ALL_AT_ONCE = "all_at_once"


class Absent(StrEnum):
    """What becomes of a pgpool that nobody can reach."""

    REFUSE = "refuse"  # nothing is rolled out without it
    OWE = "owe"  # the others get the revision, and it owes it


class OnReturn(StrEnum):
    """What becomes of a debt when the pgpool answers again."""

    GIVE = "give"  # it is given what it owes
    ASK = "ask"  # somebody says so, or lets it go


class PlanError(ValueError):
    """A plan of a rollout cannot be used."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = "nothing" if value is None else repr(value)
        super().__init__(f"{field}: {shown if len(shown) <= 80 else shown[:77] + '…'} is not {expected}")
        self.field = field


@dataclass(frozen=True, slots=True)
class Plan:
    """How one rollout goes about its instances.

    canary: the instance that goes first, empty for the first by name; rest: how the others follow it.
    hold_s: how long the instances written so far are watched before the next ones follow; guards: what for.
    hold_last: so long, too, once all are written, before the rollout counts as verified.
    absent: what becomes of an instance that cannot be reached; on_return: of one that owes, once it answers again.
    None where nobody said it: as what it owes already, else it is given it.
    """

    strategy: Strategy = Strategy.ONE_BY_ONE
    canary: str = ""
    rest: Strategy = Strategy.ALL_AT_ONCE
    hold_s: int = 0
    guards: Guards = field(default_factory=Guards)
    absent: Absent = Absent.REFUSE
    on_return: OnReturn | None = None
    hold_last: bool = False

    @property
    def lets_owe(self) -> bool:
        return self.absent is Absent.OWE


ONE_BY_ONE = Plan()


def waves(plan: Plan, positions: Sequence[int]) -> list[tuple[int, ...]]:
    """The instances that are written together, in their order. The canary has the lowest position."""
    ordered = sorted(positions)
    if plan.strategy is Strategy.ALL_AT_ONCE:
        return [tuple(ordered)]
    if plan.strategy is Strategy.CANARY and plan.rest is Strategy.ALL_AT_ONCE and len(ordered) > 1:
        return [(ordered[0],), tuple(ordered[1:])]
    return [(position,) for position in ordered]


def parse_plan(raw: object, names: Collection[str]) -> Plan:
    """Check a plan as JSON delivers it: {"strategy": "canary", "canary": "pgpool-2", "hold_s": 300}.

    None is one by one. names: of the instances. Raises PlanError with the field, as plan.hold_s.
    """
    if raw is None:
        return ONE_BY_ONE
    if not isinstance(raw, Mapping):
        raise PlanError("plan", raw, 'an object as {"strategy": "canary", "hold_s": 300}')
    known = [one.name for one in fields(Plan)]
    for name in raw:
        if name not in known:
            raise PlanError("plan", name, f"a field of a plan; there are {', '.join(known)}")
    strategy = Strategy(_among("strategy", raw.get("strategy", Strategy.ONE_BY_ONE), list(Strategy)))
    rests = [Strategy.ALL_AT_ONCE, Strategy.ONE_BY_ONE]
    rest = Strategy(_among("rest", raw.get("rest", Strategy.ALL_AT_ONCE), rests))
    canary, hold_s = _canary(raw.get("canary", ""), strategy, names), _hold_s(raw.get("hold_s", 0))
    absent = Absent(_among("absent", raw.get("absent", Absent.REFUSE), list(Absent)))
    said = raw.get("on_return")
    on_return = None if said is None else OnReturn(_among("on_return", said, list(OnReturn)))
    hold_last = _switch("hold_last", raw.get("hold_last", False))
    plan = Plan(strategy, canary, rest, hold_s, _guards(raw.get("guards", {})), absent, on_return, hold_last)
    if on_return is not None and not plan.lets_owe:
        raise PlanError("plan.on_return", on_return.value, "of use unless absent is owe: leave it out")
    if hold_last and not hold_s:
        raise PlanError("plan.hold_last", hold_last, "of use without hold_s, which says for how many seconds")
    if hold_s and strategy is Strategy.ALL_AT_ONCE and not hold_last:
        wanted = "possible all at once, where nothing follows: leave it out, or set hold_last"
        raise PlanError("plan.hold_s", hold_s, wanted)
    return plan


def stored_plan(stored: Mapping[str, Any]) -> Plan:
    """From what plan_as_json made."""
    if not stored:
        return ONE_BY_ONE
    # A plan that was stored before there was a guard did not watch for it.
    guards = Guards(**{"aborted": None, **stored["guards"]}) if "guards" in stored else Guards()
    on_return = stored.get("on_return")
    return Plan(
        Strategy(stored["strategy"]),
        stored["canary"],
        Strategy(stored["rest"]),
        stored["hold_s"],
        guards,
        # Plans that were stored before there were debts name neither.
        Absent(stored.get("absent", Absent.REFUSE)),
        None if on_return is None else OnReturn(on_return),
        stored.get("hold_last", False),
    )


def plan_as_json(plan: Plan) -> dict[str, Any]:
    return asdict(plan)


def _among(field: str, value: object, among: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in among:
        raise PlanError(f"plan.{field}", value, f"one of {', '.join(among)}")
    return value


def _canary(value: object, strategy: Strategy, names: Collection[str]) -> str:
    if not isinstance(value, str) or (value and value not in names):
        raise PlanError("plan.canary", value, f"one of the pgpools {', '.join(sorted(names))}")
    if value and strategy is not Strategy.CANARY:
        raise PlanError("plan.canary", value, f"needed for {strategy}: it belongs to the strategy canary")
    return value


def _hold_s(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST_HOLD_S:
        raise PlanError("plan.hold_s", value, f"a whole number of seconds between 0 and {LONGEST_HOLD_S}")
    return value


def _switch(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise PlanError(f"plan.{field}", value, "true or false")
    return value


def _guards(raw: object) -> Guards:
    """Each may be set, or switched off by null or false; what is left out stays as usual."""
    if not isinstance(raw, Mapping):
        raise PlanError("plan.guards", raw, 'an object as {"replay_lag_s": 30, "shares": false}')
    known = [one.name for one in fields(Guards)]
    for name in raw:
        if name not in known:
            raise PlanError("plan.guards", name, f"a guard; there are {', '.join(known)}")
    return Guards(**{name: _guard(name, value) for name, value in raw.items()})


def _guard(name: str, value: object) -> Any:
    if name not in _LARGEST:
        return _switch(f"guards.{name}", value)
    if value is None or value is False:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LARGEST[name]:
        raise PlanError(f"plan.guards.{name}", value, f"a number above 0, at most {_LARGEST[name]:g}, or null for off")
    return float(value)
