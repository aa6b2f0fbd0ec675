"""A wanted distribution of reads becomes a revision of every pgpool.conf and a rollout that carries it there."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from django.db import transaction

from apps.accounts.access import Caller
from apps.clusters.control import (
    as_registered,
    live_configs,
    live_edits,
    own_weights,
    published,
    revisions,
    rollout_rows,
)
from apps.clusters.control.live_edits import Verified
from apps.clusters.control.own_weights import Wanted
from apps.clusters.control.revisions import Difference, LiveConfig, NewFile, WeightsRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.rollout_waves import Plan, Strategy, parse_plan
from apps.clusters.domain.weights import WeightError, as_written, parse_weights, shares
from apps.clusters.models import Cluster, ConfigRevision, PgpoolInstance, Rollout
from apps.clusters.queries.rollout_plans import PlanSaid, plan_said
from apps.clusters.queries.unanswered import unanswered

__all__ = [
    "BaseChanged",
    "PreviewAnswer",
    "PreviewLine",
    "RolloutRunning",
    "WeightsRefused",
    "changed_lines",
    "preview",
    "preview_lines",
    "request_weights",
]

KNOWN, LIVE = "known", "live"
LONGEST_NOTE = 500


class BaseChanged(Exception):
    """Somebody changed a pgpool.conf since Lifeguard wrote or read it latest."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        names = ", ".join(dict.fromkeys(each["instance"] for each in differences))
        super().__init__(
            f"The pgpool.conf of {names} was changed outside Lifeguard. Adopt or revert that on the page "
            'Drift, or go on from the file as it is (by REST: "base": "live").'
        )
        self.differences = list(differences)


class PreviewLine(TypedDict):
    """A line of a diff, secrets masked. number: in the new file; in the old one for a line that goes.

    is_after_gap: lines before it are left out, since they do not change.
    """

    sign: str
    number: int | None
    text: str
    is_after_gap: bool


class InstancePreview(TypedDict):
    """What a change would do to one pgpool. weights: as they would be written; shares: of new sessions, 0..1.

    absent: why its file cannot be read now, so that it would owe the revision; empty where it is read.
    parsed_by: how far it counts what pgpool says of the file beforehand, where that is not its own; else empty.
    """

    instance: str
    path: str
    weights: dict[str, float]
    shares: dict[str, float]
    changed_lines: int
    lines: list[PreviewLine]
    absent: str
    parsed_by: str


class PreviewAnswer(TypedDict):
    """unanswered: a sentence for each pgpool that did not answer the latest look."""

    summary: str
    plan: PlanSaid
    unanswered: list[str]
    instances: list[InstancePreview]


def preview(
    *, cluster: Cluster, weights: object = None, per_instance: object = None, base: str = KNOWN, plan: object = None
) -> PreviewAnswer:
    """What request_weights would write, without storing anything. Raises what it would, but RolloutRunning."""
    instances = revisions.writable_instances(cluster)
    wanted = wanted_weights(cluster, instances, weights=weights, per_instance=per_instance, base=base)
    parsed = parse_plan(plan, [instance.name for instance in instances])
    live = live_configs.read(cluster, instances, parsed)
    refuse_changed(cluster, live, base=base)
    files = _new_files(cluster, live, wanted, live_edits.verified_texts(live))
    shown = [_preview(config, file) for config, file in zip(live, files, strict=True)]
    said = plan_said(cluster, parsed, instances)
    return {
        "summary": _summary(shown, parsed),
        "plan": said,
        "unanswered": unanswered(cluster=cluster),
        "instances": shown,
    }


def _preview(config: LiveConfig, file: NewFile) -> InstancePreview:
    text = file.text
    weights = revisions.weights_of(pgpool_conf.parse(text))
    lines = preview_lines(config.file.text, text)
    return {
        "instance": config.instance.name,
        "path": config.instance.delivery_path,
        "weights": revisions.plain(weights),
        "shares": {str(node_id): share for node_id, share in shares(weights).items()},
        "changed_lines": changed_lines(lines),
        "lines": lines,
        "absent": config.absent,
        "parsed_by": published.parsed_elsewhere(config.instance),
    }


def preview_lines(before: str, after: str) -> list[PreviewLine]:
    """The diff of two texts of a pgpool.conf as people are shown it."""
    lines = pgpool_conf.line_diff(before, after)
    return [
        {"sign": each.sign, "number": each.new_no or each.old_no, "text": each.text, "is_after_gap": each.is_after_gap}
        for each in lines
    ]


def changed_lines(lines: Sequence[PreviewLine]) -> int:
    """Lines that are new or other ones, or those that go where none comes."""
    return sum(line["sign"] == "+" for line in lines) or sum(line["sign"] == "-" for line in lines)


_ORDER = {
    Strategy.ONE_BY_ONE: "one after the other",
    Strategy.CANARY: "one alone first, then the others",
    Strategy.ALL_AT_ONCE: "all at once",
}


def _summary(shown: Sequence[InstancePreview], plan: Plan) -> str:
    changed = sum(each["changed_lines"] > 0 for each in shown)
    if not changed:
        return "Every pgpool.conf has these weights already: the rollout reloads and reads them back."
    kept = f"; {len(shown) - changed} already has these weights" if changed < len(shown) else ""
    return (
        f"{changed} of {len(shown)} pgpool.conf files change, {_ORDER[plan.strategy]}; a backup of each is kept{kept}."
    )


def request_weights(
    *,
    caller: Caller,
    cluster: Cluster,
    weights: object = None,
    per_instance: object = None,
    note: str = "",
    base: str = KNOWN,
    plan: object = None,
    now: datetime,
) -> Rollout:
    """Store a revision with these weights and a rollout of it; a worker starts it after the commit.

    weights: {node_id: number} for every pgpool; per_instance: {instance name: {node_id: number}}, which goes first.
    base: "known" refuses a file that was changed elsewhere, "live" takes the files as they are as a revision of its
    own first. Without weights, "live" rolls that one out, which verifies it.
    plan: how to go about the pgpools, as rollout_waves.parse_plan takes it; one by one unless told.
    Raises WeightError or PlanError (field, value, expected), WeightsRefused (observe only, a file that cannot be
    changed, what was edited by hand: live_edits.EditRefused), BaseChanged or RolloutRunning; nothing is stored then.
    """
    check_note(note)
    try:
        with rollout_rows.one_at_a_time(cluster), transaction.atomic():
            rollout_rows.hold(cluster)
            instances = revisions.writable_instances(cluster)
            wanted = wanted_weights(cluster, instances, weights=weights, per_instance=per_instance, base=base)
            parsed = parse_plan(plan, [instance.name for instance in instances])
            live = live_configs.read(cluster, instances, parsed)
            refuse_changed(cluster, live, base=base)
            return rollout_rows.create(
                caller=caller,
                cluster=cluster,
                revision=_revision(caller, cluster, live, wanted, note=note.strip()),
                weights_before={each.instance.name: revisions.plain(revisions.weights_of(each.conf)) for each in live},
                plan=parsed,
                now=now,
            )
    except RolloutRunning:
        # What will not do once that rollout has ended either is told now.
        instances = revisions.writable_instances(cluster)
        wanted_weights(cluster, instances, weights=weights, per_instance=per_instance, base=base)
        raise


def refuse_changed(cluster: Cluster, live: Sequence[LiveConfig], *, base: str) -> None:
    changed = revisions.differences(live, revisions.known_files(cluster))
    if changed and base != LIVE:
        raise BaseChanged(changed)


def is_news(cluster: Cluster, live: Sequence[LiveConfig]) -> bool:
    """Whether a live file is not what is known of it, or was never seen."""
    known = revisions.known_files(cluster)
    return any(config.instance.pk not in known for config in live) or bool(revisions.differences(live, known))


def _revision(
    caller: Caller, cluster: Cluster, live: Sequence[LiveConfig], wanted: Wanted | None, *, note: str
) -> ConfigRevision:
    """What is to be rolled out; live files that are news are kept as a revision of their own first."""
    verified = live_edits.verified_texts(live)
    if wanted is None:
        for config in live:
            shares(revisions.weights_of(config.conf))  # pgpool would send everything to node 0 if all weights were 0
    files = _new_files(cluster, live, wanted, verified)
    as_registered.store(caller=caller, cluster=cluster, live=live)
    if wanted is None:
        return _store_live(caller, cluster, files, note=note, verified=verified)
    if is_news(cluster, live):
        store_live(caller, cluster, live, note="")
    return revisions.store(
        cluster=cluster,
        origin=ConfigRevision.Origin.EDIT,
        note=note,
        author=caller.user,
        files=files,
        verified=verified,
    )


def store_live(caller: Caller, cluster: Cluster, live: Sequence[LiveConfig], *, note: str) -> ConfigRevision:
    """The live files as they are, as a revision of their own."""
    files = [NewFile(instance=config.instance, text=config.file.text, base=config.file) for config in live]
    return _store_live(caller, cluster, files, note=note)


def _store_live(
    caller: Caller, cluster: Cluster, files: Sequence[NewFile], *, note: str, verified: Verified | None = None
) -> ConfigRevision:
    return revisions.store(
        cluster=cluster,
        origin=ConfigRevision.Origin.LIVE,
        note=note or (as_registered.NOTE if as_registered.is_due(cluster) else "as found on the pgpools"),
        author=caller.user,
        files=files,
        verified=verified,
    )


def _new_files(
    cluster: Cluster, live: Sequence[LiveConfig], wanted: Wanted | None, verified: Verified
) -> list[NewFile]:
    """Raises EditRefused."""
    texts = [_weighed(config, wanted) for config in live]
    live_edits.refuse_faulty(cluster, live, texts, verified)
    return [
        NewFile(instance=config.instance, text=live_edits.whole(config, text, verified), base=config.file)
        for config, text in zip(live, texts, strict=True)
    ]


def _weighed(config: LiveConfig, wanted: Wanted | None) -> str:
    conf = config.conf  # the file as it is, or what its pgpool owes
    return conf.text if wanted is None else revisions.with_weights(conf, wanted[config.instance.name]).text


def check_note(note: str) -> None:
    if len(note.strip()) > LONGEST_NOTE or "\0" in note:
        raise WeightError("note", note, f"a text of at most {LONGEST_NOTE} characters")


def check_base(base: str) -> None:
    if base not in {KNOWN, LIVE}:
        raise WeightError("base", base, 'one of "known" and "live"')


def wanted_weights(
    cluster: Cluster, instances: Sequence[PgpoolInstance], *, weights: object, per_instance: object, base: str
) -> Wanted | None:
    """None: the live files as they are."""
    check_base(base)
    if weights is None and per_instance is None and base == LIVE:
        return None
    node_ids = set(cluster.backends.values_list("node_id", flat=True))
    names = [instance.name for instance in instances]
    own = own_weights.of_known(per_instance, names)
    if weights is not None or not own:
        everywhere = as_written(parse_weights(weights, node_ids))
        return {name: own_weights.written(name, own[name], node_ids) if name in own else everywhere for name in names}
    return {name: own_weights.written(name, own.get(name), node_ids) for name in names}
