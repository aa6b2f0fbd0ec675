"""Whether a pgpool.conf may be delivered to, belongs to the pgpool it is given for, and to no other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from apps.clusters.connection_survey import PgpoolFindings, SurveyStep, addresses
from apps.clusters.delivery import (
    FileUnreadable,
    LocalFile,
    PathRefused,
    UnknownDelivery,
    WriteFailed,
    allowed_directory,
)
from apps.clusters.domain import instance_numbering, pgpool_conf
from apps.clusters.models import PgpoolInstance

DEFAULT_PORT = "9999"


@dataclass(frozen=True)
class Claim:
    """target: the file behind the path, links resolved; None for observe only and where it is refused."""

    step: SurveyStep
    target: Path | None = None

    @property
    def error(self) -> str | None:
        return self.step.text if self.step.state == "failed" else None


class _Unsuitable(ValueError):
    """The file is readable, but not this pgpool's."""


def claim(found: PgpoolFindings, *, organisation_slug: str, taken: Collection[Path]) -> Claim:
    """Look at the file that a pgpool shall be delivered to. taken: files claimed in the same request."""
    wanted, target = found.asked.wanted.delivery, found.asked.target
    if wanted.kind == PgpoolInstance.Delivery.OBSERVE:
        return Claim(SurveyStep(target, "delivery", "ok", "observe only: its pgpool.conf is never read or written"))
    try:
        path = _suitable_file(found, organisation_slug=organisation_slug, taken=taken)
    except (
        FileUnreadable,
        PathRefused,
        UnknownDelivery,
        WriteFailed,
        _Unsuitable,
        pgpool_conf.ConfigSyntaxError,
        pgpool_conf.IncludeUnsupported,
    ) as error:
        return Claim(SurveyStep(target, "delivery", "failed", str(error)))
    return Claim(SurveyStep(target, "delivery", "ok", f"{path} can be read and replaced, and is this pgpool's"), path)


def _suitable_file(found: PgpoolFindings, *, organisation_slug: str, taken: Collection[Path]) -> Path:
    wanted = found.asked.wanted.delivery
    if wanted.kind != PgpoolInstance.Delivery.LOCAL:
        raise UnknownDelivery(wanted.kind)
    path = allowed_directory(wanted.path, organisation_slug, settings.LOCAL_DELIVERY_DIRECTORIES)
    file = LocalFile(path)
    conf = pgpool_conf.parse(file.read().text)
    _same_pgpool(found, conf)
    file.check_writable()
    others = PgpoolInstance.objects.filter(delivery_target=str(path))
    if found.asked.instance_id is not None:
        others = others.exclude(pk=found.asked.instance_id)
    if path in taken or others.exists():
        raise _Unsuitable(f"{wanted.path} is delivered to for another pgpool already: one pgpool, one file")
    return path


def _same_pgpool(found: PgpoolFindings, conf: pgpool_conf.PgpoolConf) -> None:
    """The file names the port and the backends that the running pgpool shows."""
    path = found.asked.wanted.delivery.path
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
    return int(written) if written.isdecimal() else 0
