"""What an edit by hand brought into a pgpool.conf: errors that the file verified before did not have."""

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.file_check import Surroundings, check_file
from apps.clusters.domain.findings import Finding, Severity


def brought_in(
    text: str, *, verified: str, surroundings: Surroundings, tells_duplicates: bool = True
) -> tuple[Finding, ...]:
    """Errors of this text that are not those of the verified one; what stands there as well, and was not edited, is
    nobody's fault now.

    tells_duplicates: whether a parameter on two lines is one.
    """
    if text == verified or not (errors := _errors(text, surroundings, tells_duplicates=tells_duplicates)):
        return ()
    stood = {found.parameter for found in _errors(verified, surroundings, tells_duplicates=tells_duplicates)}
    if pgpool_conf.is_readable(verified) and pgpool_conf.is_readable(text):
        stood -= pgpool_conf.changed_names(verified, text)
    return tuple(found for found in errors if found.parameter not in stood)


def _errors(text: str, surroundings: Surroundings, *, tells_duplicates: bool) -> list[Finding]:
    found = check_file(text, surroundings, tells_duplicates=tells_duplicates)
    return [one for one in found if one.severity is Severity.ERROR]
