"""Weights by role: what a cluster wants, and what is done about it when another backend becomes the primary."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from django.db import transaction

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import on_behalf, weight_change
from apps.clusters.control.backend_operation_rows import OperationRunning
from apps.clusters.control.live_configs import NobodyReached
from apps.clusters.control.restart_rows import RestartRunning
from apps.clusters.control.revisions import ConfigUnusable, WeightsRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.control.writes import WritesStopped
from apps.clusters.domain.role_weights import RoleWeightError, parse_primary_share, weights_by_role
from apps.clusters.domain.weights import WeightError
from apps.clusters.models import Cluster, InstanceLatest, RoleProposal, RoleWeights, Rollout
from apps.clusters.queries.health import freshness_of
from apps.clusters.queries.sight import Sight, sight_of
from apps.live import events

LONGEST_PAUSE_S = 7 * 86400
_SILENT = (InstanceLatest.State.UNREACHABLE, InstanceLatest.State.HANGING)


class NotByRole(WeightsRefused):
    """No weights by role are wanted for this cluster."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(f"{cluster.name} has no weights by role: say first which share its primary shall take.")


class RolesUnclear(WeightsRefused):
    """Nobody can say now which backend is the primary."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Which backend is the primary is not clear: {reason}.")


class PgpoolAway(WeightsRefused):
    """Not every pgpool can take the weights that the roles ask for. refusing: that let Lifeguard open no session."""

    def __init__(self, silent: Sequence[str], refusing: Sequence[str]) -> None:
        said = [f"{', '.join(silent)} {'does' if len(silent) == 1 else 'do'} not answer"] if silent else []
        if refusing:
            said.append(f"{', '.join(refusing)} {'lets' if len(refusing) == 1 else 'let'} Lifeguard open no session")
        way = " Or let one that is away owe the weights, on the page Weights by role." if silent else ""
        super().__init__(
            f"{' and '.join(said)}, and nothing is rolled out without every pgpool: it goes on when all answer.{way}"
        )


class TooSoon(WeightsRefused):
    """The latest rollout without a person is too near."""

    def __init__(self, pause_s: int) -> None:
        super().__init__(f"The roles changed again within {pause_s} s of the latest rollout without a person.")


def keep(
    *,
    caller: Caller,
    cluster: Cluster,
    primary_share: object,
    applies_itself: bool,
    pause_s: int,
    absent: str = RoleWeights.Absent.REFUSE,
    on_return: str = "",
    now: datetime,
) -> RoleWeights | None:
    """Want these weights by role from now on; primary_share None: none any more. Nothing is rolled out by this.

    absent, on_return: as rollout_waves.Plan has them, for rollouts whose plan does not say; on_return "": unsaid.
    Raises RoleWeightError, or PermissionDenied where one who is no admin lets it act without a person.
    """
    share = None if primary_share is None else parse_primary_share(primary_share)
    if not 0 <= pause_s <= LONGEST_PAUSE_S:
        raise RoleWeightError("pause_s", pause_s, f"a number of seconds from 0 to {LONGEST_PAUSE_S}")
    if on_return and absent != RoleWeights.Absent.OWE:
        raise RoleWeightError("on_return", on_return, "of use unless absent is owe: leave it out")
    with transaction.atomic():
        before = RoleWeights.objects.select_for_update().filter(cluster=cluster).first()
        if share is not None and applies_itself and not (before and before.applies_itself):
            caller.require(Role.ADMIN)
        described = _described(before)
        # What was proposed for the old wish is not what is wanted now.
        if before is None or share is None or Fraction(before.primary_share) != share:
            _close(cluster, RoleProposal.State.SUPERSEDED, now=now)
        values = {"applies_itself": applies_itself, "pause_s": pause_s, "absent": absent, "on_return": on_return}
        kept = _store(caller, cluster, share, values, now=now)
        _audited(caller, cluster, "role_weights.changed", before=described, after=_described(kept))
    events.announce(f"cluster.{cluster.pk}", "event", titles=[])
    return kept


def _store(
    caller: Caller, cluster: Cluster, share: Fraction | None, wanted: Mapping[str, object], *, now: datetime
) -> RoleWeights | None:
    if share is None:
        RoleWeights.objects.filter(cluster=cluster).delete()
        return None
    values = {
        "primary_share": Decimal(share.numerator) / Decimal(share.denominator),
        **wanted,
        "changed_by": caller.user,
        "changed_at": now,
    }
    return RoleWeights.objects.update_or_create(cluster=cluster, defaults=values)[0]


def wanted_now(*, cluster: Cluster, sight: Sight, now: datetime) -> tuple[int, dict[int, int]]:
    """The primary's node_id, and the weights that the present roles ask for. Raises NotByRole or RolesUnclear."""
    wish = RoleWeights.objects.filter(cluster=cluster).first()
    if wish is None:
        raise NotByRole(cluster)
    if freshness_of(sight=sight, now=now)["state"] == "stale":
        raise RolesUnclear("the pgpools cannot be seen now")
    primaries = [one for one in sight.backends if one.role == "primary" and one.is_up]
    if len(primaries) != 1:
        raise RolesUnclear(" and ".join(one.name for one in primaries) + " both are" if primaries else "none is up")
    primary = primaries[0].backend.node_id
    standbys = {one.backend.node_id for one in sight.backends} - {primary}
    share = Fraction(wish.primary_share)
    return primary, weights_by_role(primary=primary, standbys=standbys, primary_share=share)


def apply(
    *, caller: Caller, cluster: Cluster, now: datetime, base: str = weight_change.KNOWN, plan: object = None
) -> Rollout:
    """Roll out what the roles ask for now, and close the proposal. Raises also what request_weights does.

    plan: what it leaves out is one by one, and for a pgpool that cannot be reached as the cluster wants it.
    """
    with transaction.atomic():
        return _roll_out(caller=caller, cluster=cluster, base=base, plan=plan, now=now)


def _roll_out(
    *,
    caller: Caller,
    cluster: Cluster,
    base: str,
    now: datetime,
    plan: object = None,
    only_primary: int | None = None,
) -> Rollout:
    sight = sight_of(cluster)
    primary, weights = wanted_now(cluster=cluster, sight=sight, now=now)
    if only_primary not in (None, primary):
        raise RolesUnclear("the roles changed once more")
    name = next(one.name for one in sight.backends if one.backend.node_id == primary)
    how = "by role" if only_primary is None else "by role, without a person"
    rollout = weight_change.request_weights(
        caller=caller,
        cluster=cluster,
        weights={str(node_id): weight for node_id, weight in weights.items()},
        note=f"{how}: {name} is the primary",
        base=base,
        plan=_with_usual(plan, RoleWeights.objects.get(cluster=cluster)),
        now=now,
    )
    _close(
        cluster, RoleProposal.State.APPLIED, now=now, rollout=rollout, is_automatic=only_primary is not None, reason=""
    )
    return rollout


def _with_usual(plan: object, wish: RoleWeights) -> object:
    """The plan with what it does not say of a pgpool that cannot be reached."""
    if plan is not None and not isinstance(plan, Mapping):
        return plan  # whoever reads it says what is wrong
    given = {} if plan is None else plan
    usual = {"absent": wish.absent}
    if wish.on_return and given.get("absent") != RoleWeights.Absent.REFUSE:
        usual["on_return"] = wish.on_return
    return {**usual, **given}


def dismiss(*, caller: Caller, cluster: Cluster, now: datetime) -> None:
    """Leave the weights as they are until the roles change again. Raises NotByRole where nothing is proposed."""
    with transaction.atomic():
        if not _close(cluster, RoleProposal.State.DISMISSED, now=now):
            raise NotByRole(cluster)
        _audited(caller, cluster, "role_weights.dismissed", before=None, after=None)
    events.announce(f"cluster.{cluster.pk}", "event", titles=[])


def apply_by_itself(*, now: datetime) -> None:
    """Every open proposal of a cluster that lets it act without a person: at most one rollout for each."""
    waiting = RoleProposal.objects.filter(
        state=RoleProposal.State.OPEN, needs_person=False, cluster__role_weights__applies_itself=True
    )
    for pk in waiting.order_by("pk").values_list("pk", flat=True):
        try:
            with transaction.atomic():
                _apply_one(pk, now=now)
        except (
            RolloutRunning,
            OperationRunning,
            RestartRunning,
            WritesStopped,
            ConfigUnusable,
            NobodyReached,
            PgpoolAway,
            RolesUnclear,
            TooSoon,
        ) as error:
            # It passes: a drain ends, writes are allowed again, a host answers.
            _wait(pk, str(error), needs_person=False)
        except (WeightsRefused, WeightError, weight_change.BaseChanged) as error:
            _wait(pk, str(error), needs_person=True)


def _apply_one(pk: int, *, now: datetime) -> None:
    held = RoleProposal.objects.select_for_update(skip_locked=True, of=("self",))
    proposal = held.select_related("cluster__organisation").filter(pk=pk, state=RoleProposal.State.OPEN).first()
    if proposal is None:
        return  # another worker does it, or it is done
    cluster = proposal.cluster
    wish = RoleWeights.objects.select_related("changed_by").get(cluster=cluster)
    earlier = RoleProposal.objects.filter(cluster=cluster, is_automatic=True).order_by("-closed_at").first()
    if earlier is not None and earlier.closed_at and now - earlier.closed_at < timedelta(seconds=wish.pause_s):
        raise TooSoon(wish.pause_s)
    _refuse_away(cluster, lets_owe=wish.absent == RoleWeights.Absent.OWE)
    _roll_out(
        caller=_in_the_name_of(wish, cluster),
        cluster=cluster,
        base=weight_change.KNOWN,
        now=now,
        only_primary=proposal.primary_node_id,
    )


def _refuse_away(cluster: Cluster, *, lets_owe: bool) -> None:
    """Before anything is written: a rollout that halts is not begun again by itself. Raises PgpoolAway.

    One that turns Lifeguard away is there, and can owe nothing.
    """
    rows = InstanceLatest.objects.filter(instance__cluster=cluster).order_by("instance__name")
    found = list(rows.values_list("instance__name", "state"))
    silent = [] if lets_owe else [name for name, state in found if state in _SILENT]
    refusing = [name for name, state in found if state == InstanceLatest.State.REFUSED]
    if silent or refusing:
        raise PgpoolAway(silent, refusing)


def _in_the_name_of(wish: RoleWeights, cluster: Cluster) -> Caller:
    """Who set it, as what they may do today: it acts for nobody who could not do it themselves."""
    caller = on_behalf.operator(wish.changed_by, cluster)
    if caller is None:
        raise WeightsRefused("Who set the weights by role may not change weights any more: set them anew.")
    return caller


def _wait(pk: int, reason: str, *, needs_person: bool) -> None:
    open_one = RoleProposal.objects.filter(pk=pk, state=RoleProposal.State.OPEN)
    open_one.exclude(reason=reason, needs_person=needs_person).update(reason=reason, needs_person=needs_person)


def _close(cluster: Cluster, state: str, *, now: datetime, **values: object) -> int:
    open_one = RoleProposal.objects.filter(cluster=cluster, state=RoleProposal.State.OPEN)
    return open_one.update(state=state, closed_at=now, **values)


def _described(wish: RoleWeights | None) -> dict[str, object] | None:
    if wish is None:
        return None
    return {
        "primary_share": float(wish.primary_share),
        "applies_itself": wish.applies_itself,
        "pause_s": wish.pause_s,
        "absent": wish.absent,
        "on_return": wish.on_return or None,
    }


def _audited(
    caller: Caller, cluster: Cluster, action: str, *, before: dict[str, object] | None, after: dict[str, object] | None
) -> None:
    audit.record(
        caller=caller,
        action=action,
        target_type="cluster",
        target_id=cluster.pk,
        target_name=cluster.slug,
        before=before,
        after=after,
    )
