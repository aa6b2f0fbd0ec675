"""How to go about the pgpools and what to watch meanwhile, as fields of the form of a change, or of a way back."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms

from apps.clusters.domain.guards import Guards, LeftOut
from apps.clusters.domain.rollout_waves import ONE_BY_ONE, Absent, OnReturn, Plan, PlanError, Strategy, parse_plan
from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.queries.rollout_plans import left_out_of

_USUAL = Guards()
_ORDERS = [
    (Strategy.ONE_BY_ONE.value, "One after the other"),
    (Strategy.CANARY.value, "One first, then the others"),
    (Strategy.ALL_AT_ONCE.value, "All at once"),
]
_USUAL_ORDER = {
    Strategy.ONE_BY_ONE: "one pgpool after the other",
    Strategy.CANARY: "one first, then the others",
    Strategy.ALL_AT_ONCE: "all pgpools at once",
}
ABSENT_CHOICES = [
    (Absent.REFUSE.value, "Nothing is rolled out without it"),
    (Absent.OWE.value, "It owes the change, and is given it when it returns, unless it owes one that asks"),
    (OnReturn.GIVE.value, "It owes the change, and is given it when it returns, whatever it owes already"),
    (OnReturn.ASK.value, "It owes the change, and somebody is asked when it returns"),
]
# A way back and an adoption go on past a pgpool that fails.
_PAST_FAILURES_CHOICES = [
    (Absent.REFUSE.value, "Not begun where its file cannot be read; else it fails, and the others go on"),
    (Absent.OWE.value, "It owes it, and is given it when it returns, unless it owes one that asks"),
    (OnReturn.GIVE.value, "It owes it, and is given it when it returns, whatever it owes already"),
    (OnReturn.ASK.value, "It owes it, and somebody is asked when it returns"),
]
_PAST_FAILURES_HINT = "at least one has to be reached; one that fails, or refuses it, stops no other"
_LIMITS = ("replay_lag_s", "error_factor", "latency_factor", "aborted")
_SWITCHES = ("lost", "shares")
_PUT_BACK = "puts the old files back"
_LABELS = {"error_factor": "Errors per read", "shares": "Shares of the reads"}


def _figure(label: str, hint: str, initial: object) -> forms.CharField:
    attributes = {"class": "in", "inputmode": "decimal", "autocomplete": "off"}
    text = f"{initial:g}" if isinstance(initial, float) else initial
    return forms.CharField(
        label=label, help_text=hint, initial=text, required=False, max_length=20, widget=forms.TextInput(attributes)
    )


def _choice(label: str, choices: Sequence[tuple[str, str]], hint: str = "") -> forms.ChoiceField:
    widget = forms.Select({"class": "in"})
    return forms.ChoiceField(label=label, choices=choices, required=False, help_text=hint, widget=widget)


class PlanForm(forms.Form):
    """Its fields are those of rollout_waves.Plan, each with plan_ before it. A limit that is empty is off.

    A form that was sent without plan_strategy wants no plan: it goes as usual, one by one unless told.
    """

    plan_strategy = _choice("Order", _ORDERS)
    plan_hold_s = _figure(
        "Seconds to watch", "0 to 86400 s before the next follow; 0 goes on at once, and looks at no guard", "0"
    )
    plan_hold_last = forms.BooleanField(
        label="Watch as long after the last ones, too, before it counts as verified", required=False, initial=True
    )
    plan_canary = _choice("Which one first", [], "where one goes first")
    plan_rest = _choice(
        "Then the others",
        [(Strategy.ALL_AT_ONCE.value, "at once"), (Strategy.ONE_BY_ONE.value, "one after the other")],
    )
    plan_absent = _choice(
        "A pgpool that cannot be reached",
        ABSENT_CHOICES,
        "at least one has to take the change; one that answers and refuses it stops everything",
    )
    plan_replay_lag_s = _figure(
        "Replay lag, seconds", "no standby may fall further behind; empty: not watched", _USUAL.replay_lag_s
    )
    plan_error_factor = _figure(
        "Errors per read, times as many", "as before the change; empty: not watched", _USUAL.error_factor
    )
    plan_latency_factor = _figure(
        "Round trip, times as long", "as before the change; empty: not watched", _USUAL.latency_factor
    )
    plan_aborted = _figure(
        "Cancelled reads per minute, times as many",
        "by a standby, as it replays (conflicts, deadlocks), than before the change; empty: not watched",
        _USUAL.aborted,
    )
    plan_lost = forms.BooleanField(label="No pgpool and no backend may be lost", required=False, initial=_USUAL.lost)
    plan_shares = forms.BooleanField(
        label="Reads may not move away from the new weights", required=False, initial=_USUAL.shares
    )

    def __init__(
        self,
        data: Any = None,
        *,
        instance_names: Sequence[str],
        usual: Plan = ONE_BY_ONE,
        goes_past_failures: bool = False,
        left_out: Sequence[LeftOut] = (),
    ) -> None:
        """goes_past_failures: a way back or an adoption, which bad guards pause and nothing halts.

        left_out: what the usual guards can tell nothing of.
        """
        is_given = data is not None and bool(data.get("plan_strategy"))
        absent = usual.on_return or usual.absent
        initial = {"plan_strategy": usual.strategy.value, "plan_absent": absent.value}
        super().__init__(data if is_given else None, initial=initial)
        self.instance_names = instance_names
        self.left_out = [f"{_LABELS[one.guard]}: left out of {one.text}." for one in left_out]
        self.usual_text = _USUAL_ORDER[usual.strategy]
        self.guards_text = f"what is watched in between; bad {'pauses it' if goes_past_failures else _PUT_BACK}"
        if goes_past_failures:
            self.fields["plan_absent"].choices = _PAST_FAILURES_CHOICES  # type: ignore[attr-defined]
            self.fields["plan_absent"].help_text = _PAST_FAILURES_HINT
        choices = [("", "the first by name"), *((name, name) for name in instance_names)]
        self.fields["plan_canary"].choices = choices  # type: ignore[attr-defined]  # it is a ChoiceField

    @property
    def is_refused(self) -> bool:
        return self.is_bound and not self.is_valid()

    @classmethod
    def of_cluster(cls, cluster: Cluster, data: Any = None, *, usual: Plan = ONE_BY_ONE) -> "PlanForm":
        instances = cluster.instances.defer("pcp_password").order_by("name")
        return cls.of_instances(cluster, instances, data, usual=usual)

    @classmethod
    def of_instances(
        cls,
        cluster: Cluster,
        instances: Iterable[PgpoolInstance],
        data: Any = None,
        *,
        usual: Plan = ONE_BY_ONE,
        goes_past_failures: bool = False,
    ) -> "PlanForm":
        """For some of its pgpools."""
        chosen = list(instances)
        return cls(
            data,
            instance_names=[each.name for each in chosen],
            usual=usual,
            goes_past_failures=goes_past_failures,
            left_out=left_out_of(cluster, _USUAL, chosen),
        )

    @property
    def is_unfolded(self) -> bool:
        """Once somebody has chosen something here."""
        return self.is_bound and (self.has_changed() or not self.is_valid())

    @property
    def is_guards_unfolded(self) -> bool:
        names = {f"plan_{name}" for name in (*_LIMITS, *_SWITCHES)}
        return self.is_bound and bool(names & {*self.changed_data, *self.errors})

    @property
    def plan(self) -> dict[str, Any] | None:
        """For rollout_waves.parse_plan; None where the form has no such fields."""
        return self.cleaned_data["plan"] if self.is_bound and self.is_valid() else None

    def refuse(self, error: PlanError) -> None:
        """Say beside its field why the plan was not taken after all. The form is bound."""
        field = f"plan_{error.field.rpartition('.')[2]}"
        said = str(error).removeprefix(f"{error.field}: ").replace(", or null for off", ", or empty for off")
        self.add_error(field if field in self.fields else None, f"{said}.")

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        given["plan"] = self._wanted(given) if not self.errors else None
        if given["plan"] is not None:
            try:
                parse_plan(given["plan"], self.instance_names)
            except PlanError as error:
                self.refuse(error)
        return given

    def _wanted(self, given: dict[str, Any]) -> dict[str, Any]:
        """Without what the strategy does not use."""
        strategy = given["plan_strategy"]
        plan: dict[str, Any] = {"strategy": strategy}
        if strategy == Strategy.CANARY:
            plan |= {"canary": given["plan_canary"], "rest": given["plan_rest"] or Strategy.ALL_AT_ONCE.value}
        hold_s = _whole(given["plan_hold_s"] or "0")
        holds_last = given["plan_hold_last"] and hold_s != 0
        if strategy != Strategy.ALL_AT_ONCE or holds_last:
            plan["hold_s"] = hold_s
        if holds_last:
            plan["hold_last"] = True
        if absent := absent_plan(given["plan_absent"]):
            plan |= {"on_return": None, **absent}  # said, so that nothing usual takes its place
        if f"plan_{_LIMITS[0]}" not in self.data:
            return plan  # sent by a script that knows no guards: they stay as usual
        limits = {name: _number(given[f"plan_{name}"]) for name in _LIMITS if f"plan_{name}" in self.data}
        return {**plan, "guards": {**limits, **{name: given[f"plan_{name}"] for name in _SWITCHES}}}


def absent_plan(choice: str) -> dict[str, str]:
    """What of a plan one of the choices for a pgpool that cannot be reached stands for."""
    if choice in list(OnReturn):
        return {"absent": Absent.OWE.value, "on_return": choice}
    return {"absent": choice} if choice in list(Absent) else {}


def _whole(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else text


def _number(text: str) -> float | str | None:
    """A figure as people write it, with a comma too; what is none is left for parse_plan to refuse."""
    if not text:
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text
