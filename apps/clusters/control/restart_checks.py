"""Whether one pgpool may be restarted just now, and whether it uses its file afterwards."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.clusters.control import confirmation, restart_survey
from apps.clusters.control.confirmation import NotConfirmed
from apps.clusters.control.deliveries import delivery_of
from apps.clusters.control.verified_files import measured_against
from apps.clusters.domain.instance_numbering import differences
from apps.clusters.domain.rolling_restart import Generation
from apps.clusters.domain.routing_words import listed
from apps.clusters.domain.show_rows import ShowRowError
from apps.clusters.domain.verification import TruthState
from apps.clusters.models import Backend, Cluster, PgpoolInstance, RestartStep
from apps.clusters.outside import node_control
from apps.clusters.outside.delivery import (
    DryRunRejected,
    FileUnreadable,
    LiveFile,
    PathRefused,
    UnknownDelivery,
    WritesForbidden,
)
from apps.clusters.outside.pgpool_client import PgpoolUnreachable
from apps.clusters.polling.registry import WatchedInstance

READ_BACK_PATIENCE_S = 1.5
_NO_FILE = (FileUnreadable, PathRefused, UnknownDelivery, WritesForbidden)


class NotReady(Exception):
    """It must not be restarted as things stand. is_final: looking again would end the same."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class NotServing(Exception):
    """It was restarted, and is not yet, or not, as it should be. is_final: looking again would end the same."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


@dataclass(frozen=True)
class Ready:
    """before: as RestartStep.before has it; checked: for the receipt."""

    generation: Generation
    before: dict[str, Any]
    checked: dict[str, Any]


def prepare(cluster: Cluster, instance: PgpoolInstance) -> Ready:
    """All other pgpools answer, and its file is the verified one and can be parsed. Raises NotReady."""
    found = {each.instance_id: each for each in restart_survey.survey(cluster)}
    away = [each for each in found.values() if each.trouble]
    if away:
        raise NotReady(f"{away[0].name} does not answer, so nothing is restarted: {away[0].trouble.rstrip('.')}.")
    own = found.get(instance.pk)
    if own is None or own.sight is None:
        raise NotReady(f"{instance.name} is no longer registered.", is_final=True)
    live = _verified_file(instance)
    others = sorted(each.name for each in found.values() if each is not own)
    checked = {
        "answering": others,
        "sha256": live.sha256,
        "dry_run": _parsed(instance, live),
        "clients": own.sight.clients,
        "generation": own.sight.generation.as_json(),
    }
    before = {**own.sight.generation.as_json(), "up": list(own.up)}
    return Ready(own.sight.generation, before, checked)


def _verified_file(instance: PgpoolInstance) -> LiveFile:
    try:
        live = delivery_of(instance).read()
    except _NO_FILE as error:
        raise NotReady(f"pgpool.conf of {instance.name} could not be read: {error}.") from error
    wanted = measured_against([instance]).get(instance.pk)
    if wanted is not None and wanted.sha256 != live.sha256:
        number = wanted.revision_number
        which = "as it was found first" if number is None else f"the verified one of revision {number}"
        raise NotReady(
            f"pgpool.conf of {instance.name} is not {which}: somebody edited it, and a restart would "
            "bring that in. Adopt or revert it on the page Drift first.",
            is_final=True,
        )
    return live


def _parsed(instance: PgpoolInstance, live: LiveFile) -> str:
    try:
        return delivery_of(instance).dry_run(live.text).note
    except DryRunRejected as error:
        reason = f"pgpool would not start with the file of {instance.name}: {error}."
        raise NotReady(reason, is_final=True) from error


def serves(watched: WatchedInstance, step: RestartStep, backends: Mapping[int, Backend]) -> None:
    """Every backend that it had up is up again, by the same numbers. backends: by node_id. Raises NotServing."""
    try:
        # By SQL alone: PCP answers also where clients are turned away.
        nodes = asyncio.run(node_control.shown_nodes(watched.address, None))
    except PgpoolUnreachable as error:
        raise NotServing(f"{watched.name} does not serve yet: {error.reason}.") from error
    except ShowRowError as error:
        raise NotServing(f"{watched.name} shows its backends in an unknown way: {error}.") from error
    known = {node_id: (backend.hostname, backend.port) for node_id, backend in backends.items()}
    if different := differences(known, nodes.addresses):
        reason = f"{watched.name} numbers the backends differently since it was restarted: {'; '.join(different)}."
        raise NotServing(reason, is_final=True)
    before: list[int] = (step.before or {}).get("up", [])
    wanted = {node_id: backend for node_id, backend in sorted(backends.items()) if node_id in before}
    missing = [backend.shown_name for node_id, backend in wanted.items() if not nodes.is_so(node_id, "up")]
    if missing:
        raise NotServing(
            f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} not up at {watched.name} since it was "
            "restarted. Attach what is wrongly down there."
        )


def read_back(instance: PgpoolInstance, step: RestartStep) -> dict[str, Any]:
    """Its weights and what waited for the restart, as a receipt. Raises NotServing."""
    try:
        live = delivery_of(instance).read()
    except _NO_FILE as error:
        raise NotServing(f"pgpool.conf of {instance.name} could not be read: {error}.") from error
    if live.sha256 != step.receipt.get("checked", {}).get("sha256"):
        raise NotServing(f"pgpool.conf of {instance.name} was changed while it was restarted.", is_final=True)
    try:
        confirmed = confirmation.confirm(
            instance=instance,
            text=live.text,
            parameters=step.parameters,
            patience_s=READ_BACK_PATIENCE_S,
            is_new=False,
        )
    except NotConfirmed as error:
        raise NotServing(error.reason) from error
    _refuse_waiting(instance, confirmed.receipt)
    return confirmed.receipt


def _refuse_waiting(instance: PgpoolInstance, receipt: dict[str, Any]) -> None:
    waiting = [one for one in receipt["parameters"] if one["state"] == TruthState.PENDING_RESTART]
    if waiting:
        said = "; ".join(f"{one['name']} is {one['seen'][0]}, not {one['wanted']}" for one in waiting)
        raise NotServing(
            f"{instance.name} was restarted, and yet does not use its file: {said}. Check which file it starts with."
        )
