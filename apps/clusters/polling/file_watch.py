"""Looks at every pgpool.conf twice a minute, and tells when one differs from the file that was verified there.

While a rollout is under way only those are left alone that it writes just now: a hold may last for days.

Due rows are taken under a lease, the files are read side by side with nothing of the database in hand, and each is
compared and stored on its own: a host that hangs, or a file that nobody foresaw, stops no other. Once all files of a
cluster were read, they are kept as its first revision.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from apps.clusters.control import adoptable, as_registered
from apps.clusters.control.deliveries import delivery_of
from apps.clusters.control.published import PublishedDelivery
from apps.clusters.control.stands import Stand, stands_of
from apps.clusters.control.verified_files import VerifiedFile, as_first_found, verified_files
from apps.clusters.domain import drift, drift_words
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import ClusterEvent, InstanceConfig, PgpoolInstance, Rollout
from apps.clusters.outside.delivery import Delivery, FileUnreadable, LiveFile, PathRefused, UnknownDelivery
from apps.clusters.outside.delivery.side_by_side import UNFORESEEN, read_all
from apps.clusters.polling import doubts
from apps.clusters.polling.shown_apart import Shown
from apps.live import events

logger = logging.getLogger(__name__)

AT_ONCE = 32
DEADLINE_S = 12.0
# Longer than one look takes.
LEASE = timedelta(seconds=60)

NOT_SHOWN = "pgpool has not shown what it uses for more than a minute."

State = InstanceConfig.State


def look(*, holder: str, clock: Callable[[], datetime], deadline_s: float = DEADLINE_S) -> int:
    """Look at the files that are due. Returns how many."""
    began_at = clock()
    configs, stands = _take(holder, now=began_at)
    found = _read_all(configs, deadline_s)
    instances = [config.instance for config in configs]
    verified, registered = verified_files(instances), as_registered.numbers_of(instances)
    shown = doubts.shown_by_sessions(configs, found, verified, now=clock())
    for config in configs:
        stood = stands.get(config.pk)
        try:
            base = verified.get(config.pk)
            sessions = shown.get(config.pk, {})
            _note(config, found[config.pk], base, registered, sessions, stood=stood, began_at=began_at, now=clock())
        except Exception:
            logger.exception("a file could not be compared: instance=%s", config.pk)
            _note(config, UNFORESEEN, None, registered, {}, stood=stood, began_at=began_at, now=clock())
    _keep_as_registered({instance.cluster_id for instance in instances})
    return len(configs)


def _keep_as_registered(cluster_ids: Collection[int]) -> None:
    for cluster_id in as_registered.due_cluster_ids(cluster_ids):
        try:
            as_registered.store_found(cluster_id=cluster_id)
        except Exception:
            logger.exception("the files could not be kept as registered: cluster=%s", cluster_id)


def _take(holder: str, *, now: datetime) -> tuple[list[InstanceConfig], dict[int, Stand]]:
    """The rows that are due, leased, first those that were not looked at for longest; and how rollouts stand there."""
    readable = PgpoolInstance.objects.exclude(delivery_kind=PgpoolInstance.Delivery.OBSERVE)
    missing = readable.filter(config=None).values_list("pk", flat=True)
    InstanceConfig.objects.bulk_create((InstanceConfig(instance_id=pk) for pk in missing), ignore_conflicts=True)
    is_free = Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())
    is_old = Q(looked_at=None) | Q(looked_at__lte=now - timedelta(seconds=settings.FILES_EVERY_S))
    rollouts = Rollout.objects.filter(cluster=OuterRef("instance__cluster"))
    due = InstanceConfig.objects.filter(
        is_free,
        is_old | Exists(rollouts.filter(finished_at__gt=OuterRef("looked_at"))),
        instance__in=readable,
    ).exclude(instance__in=_being_written())
    with transaction.atomic():
        # Of no other table: every tick of the poller holds the rows of the pgpools.
        free = due.select_for_update(skip_locked=True, of=("self",))
        longest_ago = free.order_by(F("looked_at").asc(nulls_first=True), "pk")
        keys = list(longest_ago.values_list("pk", flat=True)[:AT_ONCE])
        InstanceConfig.objects.filter(pk__in=keys).update(lease_holder=holder, lease_expires_at=Now() + LEASE)
    # Before the rows are read: values that are older than the step would be held against its new file.
    stands = stands_of(PgpoolInstance.objects.filter(pk__in=keys).defer("pcp_password"))
    rows = InstanceConfig.objects.filter(pk__in=keys).select_related("instance__cluster__organisation")
    return list(rows.order_by("pk")), stands


def _being_written() -> list[int]:
    """Ids of the pgpools that a rollout writes just now."""
    busy = PgpoolInstance.objects.filter(cluster__rollouts__state__in=Rollout.ACTIVE)
    return [pk for pk, stand in stands_of(busy.defer("pcp_password")).items() if not stand.is_at_rest]


def _read_all(configs: Sequence[InstanceConfig], deadline_s: float) -> dict[int, LiveFile | str]:
    """Files of other hosts side by side; those that are published stand in a table here."""
    deliveries: dict[int, Delivery] = {}
    found: dict[int, LiveFile | str] = {}
    for config in configs:
        try:
            delivery = delivery_of(config.instance)
            if isinstance(delivery, PublishedDelivery):
                found[config.pk] = delivery.read()
            else:
                deliveries[config.pk] = delivery
        except (FileUnreadable, PathRefused, UnknownDelivery, OSError) as error:
            found[config.pk] = str(error)
    return {**found, **read_all(deliveries, deadline_s=deadline_s)}


def _note(
    config: InstanceConfig,
    found: LiveFile | str,
    verified: VerifiedFile | None,
    registered: Mapping[tuple[int, str], int],
    shown: Shown | None,
    *,
    stood: Stand | None,
    began_at: datetime,
    now: datetime,
) -> None:
    """Store one look with what it means; nothing where the row is no longer ours, or a rollout has moved on there.

    stood: how the rollout under way stood there before the file was read.
    """
    changes = _changes(config, found, verified, registered, shown, now=now)
    with transaction.atomic():
        own = InstanceConfig.objects.filter(pk=config.pk, lease_holder=config.lease_holder)
        if own.select_for_update().first() is None:
            return
        stand = stands_of([config.instance]).get(config.pk)
        if stand != stood or (stand is not None and not stand.is_at_rest) or _has_ended_since(config, began_at):
            own.update(lease_holder="", lease_expires_at=None)
            return
        own.update(**changes, lease_holder="", lease_expires_at=None)
        _tell(config, changes, stand, now=now)


def _changes(
    config: InstanceConfig,
    found: LiveFile | str,
    verified: VerifiedFile | None,
    registered: Mapping[tuple[int, str], int],
    shown: Shown | None,
    *,
    now: datetime,
) -> dict[str, Any]:
    """The columns of the row after this look. registered: as as_registered.numbers_of has it; shown: as
    doubts.shown_by_sessions.
    """
    if isinstance(found, str):
        # What differed stays, so that it is no news when the file can be read again.
        return {"looked_at": now, "state": State.UNKNOWN, "reason": found, "differences": config.differences}
    running = doubts.running_of(config, now)
    first_text = config.first_text or (found.text if drift.is_readable(found.text) else "")
    base = verified or as_first_found(config.pk, first_text)
    fault = adoptable.fault_of(config.instance, found.text, verified=base.text)
    differences = drift.compare(
        verified=base.text,
        file=found.text,
        running=running,
        catalogue=catalogue.for_version(config.instance.version),
        shown=shown,
    )
    stored = [drift_words.as_stored(each, is_unanswered=shown is None) for each in differences]
    drifted = drift_words.drifted(stored)
    state = State.DRIFTED if drifted else State.IN_STEP if running else State.UNKNOWN
    return {
        "looked_at": now,
        "state": state,
        "reason": "" if running else NOT_SHOWN,
        "differences": stored,
        "since": (config.since or now) if drifted else None,
        "file_text": found.text,
        "file_sha256": found.sha256,
        "file_since": config.file_since if config.file_sha256 == found.sha256 else now,
        "first_text": first_text,
        "fault": fault,
        "is_other_text": found.sha256 != base.sha256,
        "revision_number": base.revision_number or registered.get((config.pk, base.sha256)),
    }


def _tell(config: InstanceConfig, changes: dict[str, Any], stand: Stand | None, *, now: datetime) -> None:
    """An event for what is new, and the fact "event" for pages that show it, whatever has changed."""
    before, after = (config.state, config.differences), (changes["state"], changes["differences"])
    # What a rollout has put right, or has done, is told by the rollout; until this look pages say that one is due.
    is_by_rollout = config.looked_at is not None and (
        _has_ended_since(config, config.looked_at) or _is_done_since(stand, config.looked_at)
    )
    if before == after and not is_by_rollout:
        return
    news = drift_words.news(config.instance.name, before=before, after=after)
    if news is not None and (news.is_problem or not is_by_rollout):
        ClusterEvent.objects.create(
            cluster_id=config.instance.cluster_id,
            at=now,
            kind=ClusterEvent.Kind.DRIFT,
            is_problem=news.is_problem,
            title=news.title[:200],
            detail=news.detail,
            instance_name=config.instance.name,
        )
    events.announce(f"cluster.{config.instance.cluster_id}", "event", titles=[news.title] if news else [])


def _has_ended_since(config: InstanceConfig, since: datetime) -> bool:
    """Whether a rollout of the cluster has ended since."""
    return Rollout.objects.filter(finished_at__gte=since, cluster=config.instance.cluster_id).exists()


def _is_done_since(stand: Stand | None, since: datetime) -> bool:
    return stand is not None and stand.done_at is not None and stand.done_at >= since
