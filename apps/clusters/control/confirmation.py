"""Whether a pgpool uses what its file says, by what it shows on several new sessions, with the receipt of that."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.clusters.control import revisions
from apps.clusters.control.revisions import Weights
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.conf_secrets import mask_known, mask_value
from apps.clusters.domain.instance_numbering import differences
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.pgpool_conf import PgpoolConf
from apps.clusters.domain.show_rows import ShowRowError
from apps.clusters.domain.verification import ParameterTruth, TruthState, shares_are_live, verify
from apps.clusters.models import PgpoolInstance
from apps.clusters.outside import read_back
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolUnreachable
from apps.clusters.outside.read_back import ReadBack


class NotConfirmed(Exception):
    """A pgpool was not seen to use its file. is_final: asking again would end the same; is_silence: no answer."""

    def __init__(
        self, reason: str, *, is_final: bool = False, is_silence: bool = False, receipt: dict[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_final = is_final
        self.is_silence = is_silence
        self.receipt = receipt or {}


@dataclass(frozen=True)
class Confirmed:
    """text: a line for the log. receipt: each value that was read, as TruthReceipt."""

    text: str
    receipt: dict[str, Any]


@dataclass(frozen=True)
class _Wanted:
    """What the file asks of this pgpool."""

    weights: Weights
    values: Mapping[str, str]
    known: Catalogue

    def truths(self, reading: ReadBack) -> tuple[ParameterTruth, ...]:
        return verify(self.values, reading.sessions, catalogue=self.known)

    def holds(self, reading: ReadBack) -> bool:
        """Whether pgpool took all that a reload can bring in."""
        return all(truth.is_accepted for truth in self.truths(reading)) and _shares_are_live(self.weights, reading)


def confirm(
    *, instance: PgpoolInstance, text: str, parameters: Sequence[str], patience_s: float, is_new: bool
) -> Confirmed:
    """Read back the weights and these parameters. is_new: the servers behind the numbers must be the registered ones.

    What only a restart brings in is confirmed as waiting for that. Raises NotConfirmed.
    """
    wanted = _wanted(pgpool_conf.parse(text), parameters, catalogue.for_version(instance.version))
    reading = _ask(instance, wanted, patience_s)
    receipt = _receipt(wanted, reading)
    if is_new:
        _refuse_other_numbers(instance, reading, receipt)
    if not wanted.holds(reading):
        raise NotConfirmed(_deviation(instance, wanted, reading), receipt=receipt)
    return Confirmed(_words(wanted, reading), receipt)


def _wanted(conf: PgpoolConf, parameters: Sequence[str], known: Catalogue) -> _Wanted:
    weights = revisions.weights_of(conf)
    written = {name: value for name in parameters if (value := conf.get(name)) is not None}
    values = {**written, **{f"backend_weight{node_id}": f"{weight:.9g}" for node_id, weight in weights.items()}}
    return _Wanted(weights, values, known)


def _ask(instance: PgpoolInstance, wanted: _Wanted, patience_s: float) -> ReadBack:
    cluster = instance.cluster
    address = PgpoolAddress(instance.host, instance.port, cluster.username, cluster.password, sslmode=cluster.sslmode)
    try:
        return asyncio.run(
            read_back.read_back_until(address, wanted.values, is_wanted=wanted.holds, patience_s=patience_s)
        )
    except PgpoolUnreachable as error:
        raise NotConfirmed(f"{error.reason}. {error.fix}".strip(), is_silence=error.is_silence) from error
    except ShowRowError as error:
        raise NotConfirmed(f"{instance.name} shows its backends in an unknown way: {error}") from error


def _refuse_other_numbers(instance: PgpoolInstance, reading: ReadBack, receipt: dict[str, Any]) -> None:
    """Weights of the right numbers are no proof where the numbers are other servers."""
    backends = instance.cluster.backends.all()  # loaded before, in any order
    known = {backend.node_id: (backend.hostname, backend.port) for backend in backends}
    if reading.addresses and (different := differences(known, reading.addresses)):
        text = f"{instance.name} numbers the backends differently: {'; '.join(different)}."
        raise NotConfirmed(text, is_final=True, receipt=receipt)


def _shares_are_live(weights: Weights, reading: ReadBack) -> bool:
    if not any(weights.values()):
        # Only an old file can be so, and pgpool prints -nan for the shares then.
        return all(share is None for share in reading.shares.values())
    return shares_are_live(weights, {node_id: reading.shares.get(node_id) for node_id in weights})


_FAULTS: Mapping[TruthState, str] = {
    TruthState.MIXED: "its children do not agree",
    TruthState.IGNORED: "this version does not know every name",
    TruthState.REJECTED: "it keeps other values",
}


def _deviation(instance: PgpoolInstance, wanted: _Wanted, reading: ReadBack) -> str:
    truths = [truth for truth in wanted.truths(reading) if not truth.is_accepted]
    if truths:
        seen = "; ".join(map(_seen, truths))
        states = {truth.state for truth in truths}
        what = ", ".join(words for state, words in _FAULTS.items() if state in states)
        return f"{instance.name} does not use the file that it was given, {what}: {seen}."
    shown = ", ".join(f"{node_id}: {share}" for node_id, share in sorted(reading.shares.items()))
    return f"{instance.name} shows the new backend_weights, but balances by others (lb_weight {shown})."


def _seen(truth: ParameterTruth) -> str:
    if truth.state is TruthState.IGNORED:
        return f"{truth.name} is unknown to it"
    seen = " or ".join(_named(mask_value(truth.name, one)) for one in truth.seen)
    return f"{truth.name} is {seen}, not {_named(mask_value(truth.name, truth.wanted))}"


def _named(value: str) -> str:
    return value or "empty"


def _words(wanted: _Wanted, reading: ReadBack) -> str:
    shares = ", ".join(f"{node_id}: {share:.3f}" for node_id, share in reading.shares.items() if share is not None)
    parts = [f"lb_weight {shares}"]
    truths = [one for one in wanted.truths(reading) if not one.name.startswith("backend_weight")]
    parts += [f"{one.name} {_named(mask_value(one.name, one.wanted))}" for one in truths if one.is_live]
    waiting = [one.name for one in truths if one.state is TruthState.PENDING_RESTART]
    if waiting:
        parts.append(f"{', '.join(waiting)} {'wait' if len(waiting) > 1 else 'waits'} for a restart of this pgpool")
    return f"Read back on {len(reading.sessions)} new sessions: {'; '.join(parts)}."


def _receipt(wanted: _Wanted, reading: ReadBack) -> dict[str, Any]:
    weights = [f"backend_weight{node_id}" for node_id in sorted(wanted.weights)]
    return {
        "sessions": len(reading.sessions),
        "weights": {name: sorted({session.get(name, "") for session in reading.sessions}) for name in weights},
        "lb_weight": {str(node_id): share for node_id, share in reading.shares.items()},
        "source": reading.source,
        "parameters": [
            {
                "name": truth.name,
                "wanted": mask_value(truth.name, truth.wanted),
                "seen": [mask_known(truth.name, session.get(truth.name)) for session in reading.sessions],
                "state": truth.state.value,
            }
            for truth in wanted.truths(reading)
        ],
    }
