"""Whether a pgpool.conf may be delivered to, belongs to the pgpool it is given for, and to no other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.conf import settings

from apps.accounts.models import Organisation
from apps.clusters.domain import instance_numbering, pgpool_conf
from apps.clusters.models import PgpoolInstance
from apps.clusters.outside.delivery import (
    FileUnreadable,
    LocalFile,
    PathRefused,
    UnknownDelivery,
    WriteFailed,
    allowed_directory,
)
from apps.clusters.outside.delivery.outcomes import LARGEST_FILE_BYTES
from apps.clusters.registry.connection_survey import PgpoolFindings, SurveyStep, addresses
from apps.clusters.registry.restart_commands import why_not_allowed
from apps.clusters.registry.ssh_accounts import target_of
from apps.clusters.registry.ssh_claims import SshLook

DEFAULT_PORT = "9999"


@dataclass(frozen=True)
class Claim:
    """target: what only one pgpool may be delivered to; None for what is not written, and where it is refused.

    field: of the delivery, where an error is told. host_key: the line to be pinned, for SSH.
    """

    steps: tuple[SurveyStep, ...]
    target: str | None = None
    error: str | None = None
    field: str = "path"
    host_key: str = ""


class _Unsuitable(ValueError):
    """The file is readable, but not this pgpool's."""


def claim(
    found: PgpoolFindings, *, organisation: Organisation, looks: Mapping[str, SshLook], taken: Collection[str]
) -> Claim:
    """Look at the file that a pgpool shall be delivered to. taken: files claimed in the same request.

    looks: what was found on the hosts of those that are delivered to by SSH.
    """
    wanted, target = found.asked.wanted.delivery, found.asked.target
    if wanted.kind == PgpoolInstance.Delivery.OBSERVE:
        text = "observe only: its pgpool.conf is never read or written"
        return Claim((SurveyStep(target, "delivery", "ok", text),))
    if wanted.kind == PgpoolInstance.Delivery.SSH:
        return _by_ssh(found, looks[found.asked.field], organisation=organisation, taken=taken)
    if wanted.kind == PgpoolInstance.Delivery.LOCAL and (why := why_not_allowed(organisation.slug, wanted.restart)):
        return _refused((), target, why, field="restart")
    try:
        if wanted.kind == PgpoolInstance.Delivery.MANUAL:
            return _by_hand(found)
        path = _suitable_file(found, organisation_slug=organisation.slug, taken=taken)
    except _REFUSALS as error:
        field = "text" if wanted.kind == PgpoolInstance.Delivery.MANUAL else "path"
        return _refused((), target, str(error), field=field)
    step = SurveyStep(target, "delivery", "ok", f"{path} can be read and replaced, and is this pgpool's")
    return Claim((step,), path)


_REFUSALS = (
    FileUnreadable,
    PathRefused,
    UnknownDelivery,
    WriteFailed,
    _Unsuitable,
    pgpool_conf.ConfigSyntaxError,
    pgpool_conf.IncludeUnsupported,
)


def _refused(steps: tuple[SurveyStep, ...], target: str, text: str, *, field: str = "path") -> Claim:
    return Claim((*steps, SurveyStep(target, "delivery", "failed", text)), error=text, field=field)


def _by_hand(found: PgpoolFindings) -> Claim:
    wanted = found.asked.wanted.delivery
    if not wanted.text.strip():
        raise _Unsuitable("give the pgpool.conf as it is now: nobody here can read it on its host")
    if len(wanted.text.encode()) > LARGEST_FILE_BYTES:
        raise _Unsuitable("this is larger than 1 MiB: that is no pgpool.conf")
    _same_pgpool(found, pgpool_conf.parse(wanted.text), "this file")
    text = f"the given file is this pgpool's; new ones are published, and waited for {wanted.wait_h} h at most"
    return Claim((SurveyStep(found.asked.target, "delivery", "ok", text),))


def _by_ssh(found: PgpoolFindings, look: SshLook, *, organisation: Organisation, taken: Collection[str]) -> Claim:
    target = found.asked.target
    if look.node is None:
        return Claim(look.steps, error=look.error, field=look.field)
    claimed = target_of(organisation, look.account, look.node.path)
    try:
        _same_pgpool(found, pgpool_conf.parse(look.node.live.text), found.asked.wanted.delivery.path)
        _refuse_taken(found, claimed, taken)
    except _REFUSALS as error:
        return _refused(look.steps, target, str(error))
    return Claim(look.steps, claimed, host_key=look.node.host_key)


def _suitable_file(found: PgpoolFindings, *, organisation_slug: str, taken: Collection[str]) -> str:
    wanted = found.asked.wanted.delivery
    if wanted.kind != PgpoolInstance.Delivery.LOCAL:
        raise UnknownDelivery(wanted.kind)
    path = allowed_directory(wanted.path, organisation_slug, settings.LOCAL_DELIVERY_DIRECTORIES)
    file = LocalFile(path)
    _same_pgpool(found, pgpool_conf.parse(file.read().text), wanted.path)
    file.check_writable()
    _refuse_taken(found, str(path), taken)
    return str(path)


def _refuse_taken(found: PgpoolFindings, claimed: str, taken: Collection[str]) -> None:
    others = PgpoolInstance.objects.filter(delivery_target=claimed)
    if found.asked.instance_id is not None:
        others = others.exclude(pk=found.asked.instance_id)
    if claimed in taken or others.exists():
        path = found.asked.wanted.delivery.path
        raise _Unsuitable(f"{path} is delivered to for another pgpool already: one pgpool, one file")


def _same_pgpool(found: PgpoolFindings, conf: pgpool_conf.PgpoolConf, path: str) -> None:
    """The file names the port and the backends that the running pgpool shows."""
    running, written = found.settings.get("port"), conf.get("port") or DEFAULT_PORT
    if running is not None and running != written:
        raise _Unsuitable(f"{path} is another pgpool's: it says port {written}, the pgpool shows {running}")
    if not found.nodes:
        return
    named = {
        node_id: (conf.get(f"backend_hostname{node_id}") or "", _port(conf.get(f"backend_port{node_id}")))
        for node_id in conf.backend_node_ids()
    }
    if different := instance_numbering.differences(addresses(found.nodes), named):
        raise _Unsuitable(f"{path} is not what this pgpool runs: {'; '.join(different)}")


def _port(written: str | None) -> int:
    if written is None:
        return 5432
    return int(written) if written.isdecimal() and len(written) <= 5 else 0
