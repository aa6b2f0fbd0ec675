"""What was edited by hand in the files that a change goes on from, held to more than where it is adopted.

What pgpool would refuse or misread is refused before anything is touched, a line that is gone is written out with its
default, and every edited value is read back with the change. A parameter that the edit left on two lines with two
values is refused, too: nobody has looked at which of them counts, as whoever adopts it does.
"""

from collections.abc import Mapping, Sequence

from apps.clusters.control import adoptable, whole_files
from apps.clusters.control.revisions import LiveConfig, WeightsRefused
from apps.clusters.control.verified_files import measured_against
from apps.clusters.domain.edit_check import brought_in
from apps.clusters.domain.file_check import Surroundings
from apps.clusters.domain.findings import Finding, in_words
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import Cluster
from apps.clusters.queries.validation import connection_limits

# Instance id -> the file that was verified there latest, else the one that was found there first.
Verified = Mapping[int, str]


class EditRefused(WeightsRefused):
    """A file that was edited by hand holds what pgpool would refuse, or take for something else.

    found: name of the pgpool, and what came with the edit. is_adoptable: whether Drift takes these files as they are.
    """

    def __init__(self, found: Sequence[tuple[str, Finding]], *, is_adoptable: bool) -> None:
        said = "; ".join(f"{name}: {in_words(finding)}" for name, finding in found)
        adopting = " Or adopt it on the page Drift, after which the line that pgpool uses is the verified one."
        super().__init__(f"{said}. Correct the file, or revert it.{adopting if is_adoptable else ''}")
        self.found = tuple(found)


def verified_texts(live: Sequence[LiveConfig]) -> Verified:
    return {pk: each.text for pk, each in measured_against([config.instance for config in live]).items()}


def whole(config: LiveConfig, text: str, verified: Verified) -> str:
    """text with the defaults of what the edit took out of the file: a reload would not bring them back."""
    standing = verified.get(config.instance.pk, config.file.text)
    if standing == config.file.text:
        return text
    return whole_files.written_out(config.instance, text, standing=standing)


def refuse_faulty(cluster: Cluster, live: Sequence[LiveConfig], texts: Sequence[str], verified: Verified) -> None:
    """texts: what the change makes of the live files, one for each. Raises EditRefused."""
    edited = [
        (config, text, verified[config.instance.pk])
        for config, text in zip(live, texts, strict=True)
        if verified.get(config.instance.pk, config.file.text) != config.file.text
    ]
    if not edited:
        return
    node_ids, limits = set(cluster.backends.values_list("node_id", flat=True)), connection_limits(cluster=cluster)
    found = [
        (config.instance.name, finding)
        for config, text, before in edited
        for finding in brought_in(
            text,
            verified=before,
            surroundings=Surroundings(catalogue.for_version(config.instance.version), node_ids, limits),
        )
    ]
    if found:
        refused = {name for name, _ in found}
        faults = [
            adoptable.fault_of(config.instance, config.file.text, verified=before)
            for config, _, before in edited
            if config.instance.name in refused
        ]
        raise EditRefused(found, is_adoptable=not any(faults))
