"""Going back to an earlier revision: the files that stood on every pgpool then, as a new revision and its rollout."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from apps.accounts.access import Caller
from apps.clusters.control import (
    adoptable,
    live_configs,
    live_edits,
    program_parameters,
    revisions,
    rollout_rows,
    weight_change,
    whole_revisions,
)
from apps.clusters.control.live_edits import Verified
from apps.clusters.control.revisions import LiveConfig, NewFile, WeightsRefused
from apps.clusters.control.weight_change import KNOWN
from apps.clusters.control.whole_revisions import WholeFile
from apps.clusters.domain.rollout_waves import Plan, parse_plan
from apps.clusters.models import Cluster, ConfigRevision, RevisionFile, Rollout


class ReturnRefused(WeightsRefused):
    """The files of this revision cannot be put back as things stand."""


def new_files(
    *, caller: Caller, cluster: Cluster, revision: ConfigRevision, base: str = KNOWN, plan: object = None
) -> list[NewFile]:
    """What going back would write. Pgpools of which the revision knows nothing keep their file.

    Raises what request_return would.
    """
    rollout_rows.refuse_unless_free(cluster)
    live = _live(cluster, base, _plan(cluster, plan))
    files = _new_files(revision, live, live_edits.verified_texts(live))
    unstored = [
        RevisionFile(instance=each.instance, instance_name=each.instance.name, text=each.text, base_text=each.base.text)
        for each in files
    ]
    program_parameters.refuse_files(caller, unstored)
    return files


def request_return(
    *,
    caller: Caller,
    cluster: Cluster,
    revision: ConfigRevision,
    note: str = "",
    base: str = KNOWN,
    plan: object = None,
    now: datetime,
) -> Rollout:
    """Roll the files of this revision out. base, plan, errors: as weight_change.request_weights; ReturnRefused,
    program_parameters.NeedsAdmin.
    """
    weight_change.check_note(note)
    with rollout_rows.one_at_a_time(cluster), transaction.atomic():
        rollout_rows.hold(cluster)
        parsed = _plan(cluster, plan)
        live = _live(cluster, base, parsed)
        verified = live_edits.verified_texts(live)
        files = _new_files(revision, live, verified)
        if weight_change.is_news(cluster, live):
            weight_change.store_live(caller, cluster, live, note="")
        stored = revisions.store(
            cluster=cluster,
            origin=ConfigRevision.Origin.ROLLBACK,
            note=note.strip() or f"back to revision {revision.number}",
            author=caller.user,
            files=files,
            verified=verified,
        )
        before = {one.instance.name: revisions.plain(revisions.weights_of(one.conf)) for one in live}
        return rollout_rows.create(
            caller=caller, cluster=cluster, revision=stored, weights_before=before, plan=parsed, now=now
        )


def _plan(cluster: Cluster, plan: object) -> Plan:
    return parse_plan(plan, list(cluster.instances.values_list("name", flat=True)))


def _live(cluster: Cluster, base: str, plan: Plan) -> list[LiveConfig]:
    weight_change.check_base(base)
    live = live_configs.read(cluster, revisions.writable_instances(cluster), plan)
    weight_change.refuse_changed(cluster, live, base=base)
    return live


def _new_files(revision: ConfigRevision, live: Sequence[LiveConfig], verified: Verified) -> list[NewFile]:
    whole = whole_revisions.files_of(revision)
    if not whole:
        raise ReturnRefused(f"Revision {revision.number} holds no file of a pgpool that is registered now.")
    return [_new_file(config, whole, verified) for config in live if config.instance.pk in whole]


def _new_file(config: LiveConfig, whole: Mapping[int, WholeFile], verified: Verified) -> NewFile:
    """Raises ReturnRefused: pgpool could not go by that file any more, as with a backend that was added since."""
    text = whole[config.instance.pk].text
    if fault := adoptable.fault_of(config.instance, text, verified=verified.get(config.instance.pk, config.file.text)):
        raise ReturnRefused(f"The file of {config.instance.name} cannot be put back as it was: {fault}.")
    return NewFile(instance=config.instance, text=live_edits.whole(config, text, verified), base=config.file)
