"""What a pgpool.conf must say beside what was asked for: nothing that stands there goes without its default."""

import re
from collections.abc import Collection, Iterable

from apps.clusters.domain import left_out, pgpool_conf, read_movers
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import PgpoolInstance, RevisionFile

_WEIGHT = re.compile(r"backend_weight\d+")


def written_out(instance: PgpoolInstance | None, text: str, *, standing: str) -> str:
    """text with the default of every parameter that the standing file names and it does not.

    A text that pgpool cannot read, as somebody may have left it there, stays as it is.
    """
    known = catalogue.for_version(None if instance is None else instance.version)
    try:
        return left_out.written_out(text, standing=standing, known=known)
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported):
        return text


def is_edit_of(instance: PgpoolInstance | None, found: str, *, adopted: str) -> bool:
    """Whether this edited file is the one that the text adopts: the same, but for lines that were written out."""
    return found == adopted or written_out(instance, found, standing=adopted) == adopted


def way_back(file: RevisionFile) -> str:
    """What is put in the place of this file to undo it."""
    return written_out(file.instance, file.base_text, standing=file.text)


def changed_names(text: str, *earlier: str) -> set[str]:
    """Parameters whose value differs from that in one of the earlier texts."""
    return set().union(*(pgpool_conf.changed_names(each, text) for each in earlier))


def but_weights(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not _WEIGHT.fullmatch(name))


def may_move_reads(changes: Iterable[Collection[str]]) -> bool:
    """A revision that changes nothing is asked for to see whether the reads follow."""
    names = set().union(*changes)
    return not names or read_movers.may_move_reads(names)
