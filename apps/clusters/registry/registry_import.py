"""Clusters described in a file become what is registered, each one whole or not at all; the same file twice is once.

What is registered and stands in no file is left as it is: removing is done by hand.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from django.db import transaction

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.models import Cluster
from apps.clusters.registry import cluster_survey, observe_only
from apps.clusters.registry.change_plan import pgpool_wanted
from apps.clusters.registry.cluster_survey import Ask, Heard, WholeQuestion, ask_side_by_side
from apps.clusters.registry.cluster_wanted import BackendWanted, ClusterWanted, DeliveryWanted, PgpoolWanted
from apps.clusters.registry.instance_changes import add_instance
from apps.clusters.registry.registration import RegistrationRefused, register, slug_of
from apps.clusters.registry.registry_changes import change_cluster
from apps.clusters.registry.registry_locks import RegistryConflict
from apps.clusters.registry.registry_secrets import Entry, with_secrets
from apps.clusters.registry.restart_commands import why_not_allowed

# A description with its secrets -> what is wanted; raises RegistrationRefused with a message for each field.
Read = Callable[[Mapping[str, Any]], ClusterWanted]


class Imported(TypedDict):
    """What became of one cluster of the file. errors: field of its description -> what is wrong there."""

    slug: str
    outcome: Literal["created", "changed", "unchanged", "refused"]
    text: str
    errors: dict[str, str]


def import_clusters(
    *,
    caller: Caller,
    entries: Sequence[Entry],
    secrets: Mapping[str, str],
    read: Read,
    is_dry_run: bool,
    now: dt.datetime,
) -> list[Imported]:
    """is_dry_run: say what would be done; nothing is stored, and no pgpool is asked.

    What the clusters' servers are asked, they are asked side by side; then one cluster after the other is stored, in
    the order of the file. One that cannot be reached is refused, and holds up no other for longer than its own limit.
    """
    caller.require(Role.ADMIN)
    slugs = [_slug(entry) for entry in entries]
    found: dict[int, Imported] = {}
    answers = {}
    for at, slug in enumerate(slugs):
        if slug and slug in slugs[:at]:
            found[at] = _refused(slug, {"slug": f"{slug} stands in the file twice"})
        else:
            answers[at] = _Answers()
    left = list(answers)
    while left:
        asked: dict[int, WholeQuestion] = {}
        for at in left:
            work = _Work(caller, read, secrets, is_dry_run, now, answers[at].begun())
            try:
                found[at] = _imported(work, slugs[at], entries[at])
            except _NotAsked as error:
                asked[at] = error.question
        for at, heard in zip(asked, ask_side_by_side(list(asked.values())), strict=True):
            answers[at].known.append((asked[at], heard))
        left = list(asked)
    return [found[at] for at in sorted(found)]


class _NotAsked(Exception):
    """The servers of a cluster have to be asked first. What was done for it so far is rolled back."""

    def __init__(self, question: WholeQuestion) -> None:
        super().__init__("not asked yet")
        self.question = question


@dataclass
class _Answers:
    """What the servers of one cluster were asked, and said, in this order: each try asks the same again."""

    known: list[tuple[WholeQuestion, Heard]] = field(default_factory=list)
    _next: int = 0

    def begun(self) -> Ask:
        self._next = 0
        return self._answer

    def _answer(self, whole: WholeQuestion) -> Heard:
        at, self._next = self._next, self._next + 1
        if at >= len(self.known):
            raise _NotAsked(whole)
        question, heard = self.known[at]
        # Somebody changed the registration meanwhile: another question.
        return heard if question == whole else cluster_survey.ask(whole)


@dataclass(frozen=True)
class _Work:
    """One import, as every cluster of it needs it."""

    caller: Caller
    read: Read
    secrets: Mapping[str, str]
    is_dry_run: bool
    now: dt.datetime
    ask: Ask


def _imported(work: _Work, slug: str, entry: Entry) -> Imported:
    """Raises _NotAsked."""
    caller = work.caller
    cluster = Cluster.objects.select_related("organisation").filter(organisation=caller.organisation, slug=slug).first()
    try:
        wanted = work.read(with_secrets(entry, work.secrets, cluster))
        _refuse_unknown_commands(caller, wanted, cluster)
        if cluster is None:
            return _create(work, wanted)
        return _change(work, cluster, wanted)
    except RegistrationRefused as error:
        return _refused(slug, error.errors)
    except RegistryConflict as error:
        return _refused(slug, {"": str(error)})


def _refuse_unknown_commands(caller: Caller, wanted: ClusterWanted, cluster: Cluster | None) -> None:
    """A preview asks no pgpool, but it knows these. What is registered already may stay."""
    known = dict(cluster.instances.values_list("name", "restart_command")) if cluster is not None else {}
    errors = {
        f"pgpools.{at}.delivery.restart": why
        for at, each in enumerate(wanted.pgpools)
        if each.delivery.kind == "local" and each.delivery.restart != known.get(each.name)
        if (why := why_not_allowed(caller.organisation.slug, each.delivery.restart))
    }
    if errors:
        raise RegistrationRefused(errors)


def _create(work: _Work, wanted: ClusterWanted) -> Imported:
    slug = wanted.slug or slug_of(wanted.name)
    if work.is_dry_run:
        return _outcome(slug, "created", f"would be registered, with {_counted(wanted)}, if every pgpool answers")
    cluster = register(caller=work.caller, wanted=wanted, now=work.now, ask=work.ask)
    return _outcome(cluster.slug, "created", f"registered, with {_counted(wanted)}")


def _change(work: _Work, cluster: Cluster, wanted: ClusterWanted) -> Imported:
    changes, new = _changes(cluster, wanted), _new_pgpools(cluster, wanted)
    is_switched = cluster.is_observe_only != wanted.is_observe_only
    if wanted.has_synthetic_azs != cluster.has_synthetic_azs:
        raise RegistrationRefused({"has_synthetic_azs": "cannot be changed: remove the cluster and register it anew"})
    done = [*(name.replace("_", " ") for name in changes), *(f"new pgpool {each.name}" for each in new)]
    done += ["observe only"] if is_switched else []
    left = sorted(set(cluster.instances.values_list("name", flat=True)) - {each.name for each in wanted.pgpools})
    stays = f"; {', '.join(left)} stands in no file and stays" if left else ""
    if not done:
        return _outcome(cluster.slug, "unchanged", f"is so already{stays}")
    if not work.is_dry_run:
        _apply(work, cluster, wanted)
    return _outcome(
        cluster.slug, "changed", f"{'would change' if work.is_dry_run else 'changed'}: {', '.join(done)}{stays}"
    )


@transaction.atomic
def _apply(work: _Work, cluster: Cluster, wanted: ClusterWanted) -> None:
    """All of it, or nothing where one part is refused."""
    if cluster.is_observe_only != wanted.is_observe_only:
        observe_only.set_for_cluster(
            caller=work.caller,
            cluster=cluster,
            is_observe_only=wanted.is_observe_only,
            confirm=cluster.slug,
            now=work.now,
        )
        cluster.refresh_from_db()
    if changes := _changes(cluster, wanted):
        change_cluster(caller=work.caller, cluster=cluster, changes=changes, now=work.now, ask=work.ask)
    for each in _new_pgpools(cluster, wanted):
        add_instance(caller=work.caller, cluster=cluster, wanted=each, now=work.now, ask=work.ask)


def _changes(cluster: Cluster, wanted: ClusterWanted) -> dict[str, Any]:
    """As change_cluster takes them: only what differs."""
    names = ("name", "username", "password", "sslmode")
    found: dict[str, Any] = {
        name: getattr(wanted, name) for name in names if getattr(wanted, name) != getattr(cluster, name)
    }
    known = {each.name: pgpool_wanted(each, {}) for each in cluster.instances.order_by("name")}
    pgpools = [_pgpool_change(known[each.name], each) for each in wanted.pgpools if each.name in known]
    if pgpools := [each for each in pgpools if len(each) > 1]:
        found["pgpools"] = pgpools
    places = {
        each.node_id: BackendWanted(each.node_id, each.asked_host, each.asked_port, each.az)
        for each in cluster.backends.order_by("node_id")
    }
    if backends := [change for each in wanted.backends if (change := _backend_change(places.get(each.node_id), each))]:
        found["backends"] = backends
    if _is_moved(found) and "password" not in found:
        found["password"] = wanted.password  # with_secrets() made sure that it may go there
    return found


def _is_moved(changes: Mapping[str, Any]) -> bool:
    moved: Iterable[Mapping[str, Any]] = [*changes.get("pgpools", ()), *changes.get("backends", ())]
    return any("host" in each or "port" in each for each in moved)


def _pgpool_change(known: PgpoolWanted, wanted: PgpoolWanted) -> dict[str, Any]:
    changed: dict[str, Any] = {"name": wanted.name}
    changed |= {
        name: getattr(wanted, name) for name in ("host", "port", "az") if getattr(wanted, name) != getattr(known, name)
    }
    if wanted.pcp != known.pcp:
        pcp = wanted.pcp
        changed["pcp"] = pcp and {"port": pcp.port, "user": pcp.username, "password": pcp.password}
    delivery = _completed(wanted, known)
    if delivery != known.delivery:
        changed["delivery"] = delivery.flat()
    return changed


def _completed(wanted: PgpoolWanted, known: PgpoolWanted) -> DeliveryWanted:
    """What may be left out: the file that is published already, and the sshd of the pgpool's own host."""
    delivery = wanted.delivery
    if delivery.kind == "manual" == known.delivery.kind and not delivery.text:
        delivery = replace(delivery, text=known.delivery.text)
    if delivery.kind == "ssh":
        ssh, is_same = delivery.ssh, known.delivery.kind == "ssh"
        host_key = ssh.host_key or (known.delivery.ssh.host_key if is_same else "")
        delivery = replace(delivery, ssh=replace(ssh, host=ssh.host or wanted.host, host_key=host_key))
    return delivery


def _differing(wanted: object, known: object, *names: str) -> dict[str, Any]:
    return {name: getattr(wanted, name) for name in names if getattr(wanted, name) != getattr(known, name)}


def _backend_change(known: BackendWanted | None, wanted: BackendWanted) -> dict[str, Any]:
    if known is None:
        return {"node_id": wanted.node_id}
    changed: dict[str, Any] = {"host": wanted.host or known.host, "port": wanted.port or known.port, "az": wanted.az}
    changed = {name: value for name, value in changed.items() if value != getattr(known, name)}
    return {"node_id": wanted.node_id, **changed} if changed else {}


def _new_pgpools(cluster: Cluster, wanted: ClusterWanted) -> list[PgpoolWanted]:
    known = set(cluster.instances.values_list("name", flat=True))
    return [each for each in wanted.pgpools if each.name not in known]


def _slug(entry: Entry) -> str:
    """As far as it can be told before the description is read."""
    given, name = entry.get("slug"), entry.get("name")
    if isinstance(given, str) and given:
        return given[:80]
    return slug_of(name)[:80] if isinstance(name, str) else ""


def _counted(wanted: ClusterWanted) -> str:
    count = len(wanted.pgpools)
    return f"{count} pgpool{'s' * (count != 1)}"


def _refused(slug: str, errors: Mapping[str, str]) -> Imported:
    text = "; ".join(f"{at}: {message}" if at else message for at, message in errors.items())
    return Imported(slug=slug, outcome="refused", text=text, errors=dict(errors))


def _outcome(slug: str, outcome: Literal["created", "changed", "unchanged"], text: str) -> Imported:
    return Imported(slug=slug, outcome=outcome, text=text, errors={})
