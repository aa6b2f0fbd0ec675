"""Parameters that a new pgpool.conf no longer names.

A reload does not bring their defaults back: some children of pgpool keep the old value, others take the default. So
they are written out.
"""

import re

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.parameters.catalogue import Catalogue

# Servers behind pgpool are registered, not edited; a weight counts as 0 on a reload when its line is missing.
_OF_SERVERS = re.compile(r"backend_(?!weight)\w+")


def written_out(text: str, *, standing: str, known: Catalogue) -> str:
    """text with a line for each parameter that the standing file sets and it does not: its default.

    known: the parameters of this pgpool's version. What has no known default is left out as it was.
    """
    conf = pgpool_conf.parse(text)
    try:
        names = pgpool_conf.parse(standing).values().keys() - conf.values().keys()
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported):
        return text
    defaults = {name: _default(name, known) for name in sorted(names)}
    return conf.with_values({name: value for name, value in defaults.items() if value is not None}).text


def _default(name: str, known: Catalogue) -> str | None:
    parameter = None if _OF_SERVERS.fullmatch(name) else known.find(name)
    return None if parameter is None else parameter.default
