"""Parameters that make pgpool run programs: whatever way a value of theirs takes to a node, an admin sends it there."""

from collections.abc import Iterable, Iterator, Sequence

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import revisions
from apps.clusters.control.verified_files import measured_against
from apps.clusters.domain import out_of_reach, pgpool_conf
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import ConfigRevision, PgpoolInstance, RevisionFile


class NeedsAdmin(revisions.WeightsRefused):
    """A rollout would change, on a node, what pgpool runs as a program."""

    def __init__(self, names: Sequence[str], instances: Sequence[str]) -> None:
        listed = ", ".join(names)
        super().__init__(
            f"{listed}: pgpool runs what stands there as a program, and this would change it on "
            f"{', '.join(instances)}. Ask an admin of the organisation to do it."
        )
        self.names = tuple(names)
        self.instances = tuple(instances)


def refuse_unless_admin(caller: Caller, revision: ConfigRevision) -> None:
    """Raises NeedsAdmin as refuse_files, of the files of the revision."""
    refuse_files(caller, revision.files.select_related("instance").order_by("instance_name"))


def refuse_files(caller: Caller, wanted: Iterable[RevisionFile]) -> None:
    """Raises NeedsAdmin where a file gives such a parameter another value than it has there. They need not be stored.

    It counts as changed against the file that stands there, and against the verified one: a pgpool need not use yet
    what was edited by hand, and the reload of a rollout would bring it in.
    """
    if caller.may(Role.ADMIN):
        return
    files = list(wanted)
    verified = measured_against([file.instance for file in files if file.instance is not None])
    names: dict[str, None] = {}
    instances = []
    for file in files:
        standing = [file.base_text]
        if file.instance_id in verified:
            standing.append(verified[file.instance_id].text)
        changed = sorted({name for text in standing for name in _changed(file, text)})
        if changed:
            names |= dict.fromkeys(changed)
            instances.append(file.instance_name)
    if names:
        raise NeedsAdmin(list(names), instances)


def _changed(file: RevisionFile, standing: str) -> Iterator[str]:
    """What differs; a file that cannot be read, as somebody may have left it there, sets nothing."""
    if file.text == standing or not pgpool_conf.is_readable(standing):
        return
    for name in pgpool_conf.changed_names(standing, file.text):
        if out_of_reach.runs_programs(name) and not _is_default_written_out(file.instance, name, standing, file.text):
            yield name


def _is_default_written_out(instance: PgpoolInstance | None, name: str, *texts: str) -> bool:
    """Whether one of the texts leaves it out, and the other says what pgpool takes then."""
    found = catalogue.for_version(None if instance is None else instance.version).find(name)
    default = None if found is None else found.default
    values = [pgpool_conf.parse(text).get(name) for text in texts]
    return default is not None and all(value in (None, default) for value in values)
