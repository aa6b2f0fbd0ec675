"""The clients against the real cluster: what servers say, what a freeze does, what a reload takes."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from apps.clusters.domain.pgpool_conf import parse
from apps.clusters.domain.show_rows import parse_pool_nodes, parse_pool_processes, parse_pool_version
from apps.clusters.outside import read_back
from apps.clusters.outside.backend_client import BackendAddress, BackendUnreachable, KeptBackend, ask_backend
from apps.clusters.outside.delivery import LocalFile
from apps.clusters.outside.diagnosis import diagnose, diagnose_backend
from apps.clusters.outside.pcp import PcpAddress, PcpError, node_info, process_count
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolUnreachable, connect
from deploy.lab import Lab

ANSWER_S = 30.0  # a healthy server on a busy machine
SHORT_S = 0.5  # a frozen one is given up after this


def pgpool_address(lab: Lab, number: int = 0, **changes: str) -> PgpoolAddress:
    place, monitor = lab.addresses["pgpools"][number], lab.addresses["monitor"]
    return PgpoolAddress(place["host"], place["port"], **{**monitor, **changes})


def pcp_address(lab: Lab, number: int = 0) -> PcpAddress:
    place = lab.addresses["pgpools"][number]
    return PcpAddress(place["host"], place["pcp_port"], **lab.addresses["pcp"])


def backend_address(lab: Lab, node_id: int, **changes: str) -> BackendAddress:
    place, monitor = lab.addresses["backends"][node_id], lab.addresses["monitor"]
    return BackendAddress(place["host"], place["port"], **{**monitor, **changes})


async def lb_weights(address: PgpoolAddress) -> list[float | None]:
    connection = await connect(address, deadline_s=ANSWER_S)
    nodes = parse_pool_nodes(await connection.show("SHOW pool_nodes", deadline_s=ANSWER_S))
    await connection.close()
    return [node.lb_weight for node in nodes]


async def test_pgpool_answers_every_question_of_a_poll(lab: Lab) -> None:
    connection = await connect(pgpool_address(lab), deadline_s=ANSWER_S)

    for _ in range(7):  # the sixth equal question would be prepared, and then unknown
        nodes = parse_pool_nodes(await connection.show("SHOW pool_nodes", deadline_s=ANSWER_S))
    processes = parse_pool_processes(await connection.show("SHOW pool_processes", deadline_s=ANSWER_S))
    [version] = await connection.show("SHOW pool_version", deadline_s=ANSWER_S)
    probe_ms = await connection.probe(deadline_s=ANSWER_S)
    await connection.close()

    assert [node.role for node in nodes] == ["primary", "standby", "standby"]
    assert any(process.is_in_use for process in processes)
    assert parse_pool_version(version["pool_version"] or "")[0].isdigit()
    assert probe_ms > 0


async def test_every_parameter_that_pgpool_shows_can_be_read_back(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    address = pgpool_address(lab)
    connection = await connect(address, deadline_s=ANSWER_S)
    shown = {
        row["item"] or "": row["value"] or "" for row in await connection.show("PGPOOL SHOW ALL", deadline_s=ANSWER_S)
    }
    await connection.close()
    assert {"health_check_period", "health_check_period0", "backend_weight1"} <= shown.keys()
    monkeypatch.setattr(read_back, "MOST_ASKED_SINGLY", len(shown))
    monkeypatch.setattr(read_back, "SESSIONS", 1)

    found: dict[str, str] = {}
    for some in ([name for name in shown if name == name.lower()], [name for name in shown if name != name.lower()]):
        reading = await read_back.read_back_until(
            address, some, is_wanted=lambda _: True, patience_s=ANSWER_S, deadline_s=ANSWER_S
        )
        found |= reading.sessions[0]

    assert found == shown


async def test_pcp_and_sql_describe_the_same_backends(lab: Lab) -> None:
    connection = await connect(pgpool_address(lab), deadline_s=ANSWER_S)
    by_sql = parse_pool_nodes(await connection.show("SHOW pool_nodes", deadline_s=ANSWER_S))
    await connection.close()

    by_pcp = await node_info(pcp_address(lab), deadline_s=ANSWER_S)

    assert [(node.hostname, node.port, node.role, node.weight_share) for node in by_pcp] == [
        (node.hostname, node.port, node.role, node.lb_weight) for node in by_sql
    ]
    assert await process_count(pcp_address(lab), deadline_s=ANSWER_S) == lab.num_init_children


async def test_backends_tell_their_role_and_who_replicates_from_them(lab: Lab) -> None:
    primary, *standbys = [await ask_backend(backend_address(lab, node_id), deadline_s=ANSWER_S) for node_id in range(3)]

    assert not primary.is_in_recovery
    assert sorted(row.application_name for row in primary.replication) == ["pg2", "pg3"]
    assert {row.state for row in primary.replication} == {"streaming"}
    assert all(standby.is_in_recovery and standby.receiver_status == "streaming" for standby in standbys)
    assert len({facts.system_identifier for facts in (primary, *standbys)}) == 1


async def test_paused_replay_is_seen_from_both_sides(restored_lab: Lab) -> None:
    restored_lab.pause_replay("pg2")
    app, place = restored_lab.addresses["app"], restored_lab.addresses["backends"][0]
    with psycopg.connect(
        host=place["host"], port=place["port"], user=app["username"], password=app["password"], dbname=app["database"]
    ) as session:
        session.execute("UPDATE accounts SET balance = balance + 1 WHERE id <= 2000")

    deadline = time.monotonic() + 60
    while True:
        primary = await ask_backend(backend_address(restored_lab, 0), deadline_s=ANSWER_S)
        standby = await ask_backend(backend_address(restored_lab, 1), deadline_s=ANSWER_S)
        lags = {row.application_name: row.lag_bytes for row in primary.replication}
        is_seen = bool(lags.get("pg2")) and standby.receive_lsn != standby.replay_lsn
        if is_seen or time.monotonic() > deadline:
            break
        await asyncio.sleep(0.2)

    assert is_seen, (primary, standby)
    assert standby.is_replay_paused


async def test_a_kept_backend_connection_is_reused(lab: Lab) -> None:
    kept = KeptBackend()

    await ask_backend(backend_address(lab, 0), deadline_s=ANSWER_S, kept=kept)
    session = kept.session
    await ask_backend(backend_address(lab, 0), deadline_s=ANSWER_S, kept=kept)

    assert kept.session is session
    await kept.close()


@pytest.mark.parametrize("channel", ["pcp", "signal"])
def test_a_written_file_is_taken_after_a_reload(
    restored_lab: Lab, wait_until: Callable[..., None], channel: str
) -> None:
    file = LocalFile(Path(restored_lab.addresses["pgpools"][0]["conf"]))
    live = file.read()
    text = parse(live.text).with_values({"backend_weight0": 0, "backend_weight1": 250, "backend_weight2": 750}).text

    assert file.dry_run(text).is_available
    file.write(text, expected_sha256=live.sha256, rollout_tag="test")
    receipt = file.reload(pcp=pcp_address(restored_lab) if channel == "pcp" else None, deadline_s=ANSWER_S)

    assert receipt.channel == channel
    wait_until(
        lambda: asyncio.run(lb_weights(pgpool_address(restored_lab))) == [0, 0.25, 0.75], "the new weights are shown"
    )
    assert file.read().owner == live.owner


async def test_a_frozen_pgpool_is_given_up_at_the_deadline_by_every_channel(restored_lab: Lab) -> None:
    kept = await connect(pgpool_address(restored_lab), deadline_s=ANSWER_S)
    restored_lab.freeze("pgpool-1")
    started = time.monotonic()

    with pytest.raises(PgpoolUnreachable) as on_kept:
        await kept.show("SHOW pool_nodes", deadline_s=SHORT_S)
    with pytest.raises(PgpoolUnreachable) as on_new:
        await connect(pgpool_address(restored_lab), deadline_s=3)
    with pytest.raises(PcpError):
        await node_info(pcp_address(restored_lab), deadline_s=SHORT_S)

    assert time.monotonic() - started < ANSWER_S
    assert on_kept.value.step == "show"
    assert on_new.value.step == "authenticate"  # the kernel took the connection
    assert not kept.is_open


async def test_a_frozen_backend_is_given_up_at_the_deadline(restored_lab: Lab) -> None:
    kept = KeptBackend()
    await ask_backend(backend_address(restored_lab, 2), deadline_s=ANSWER_S, kept=kept)
    restored_lab.freeze("pg3")
    started = time.monotonic()

    with pytest.raises(BackendUnreachable, match=r"within 0\.5 s"):
        await ask_backend(backend_address(restored_lab, 2), deadline_s=SHORT_S, kept=kept)

    assert time.monotonic() - started < ANSWER_S
    assert kept.session is None


async def test_a_diagnosis_of_the_real_cluster_passes_and_names_what_fails(lab: Lab) -> None:
    whole = await diagnose(pgpool_address(lab), deadline_s=ANSWER_S)
    wrong = await diagnose(pgpool_address(lab, password="wrong"), deadline_s=ANSWER_S)
    unknown = await diagnose(pgpool_address(lab, username="nosuch"), deadline_s=ANSWER_S)

    assert whole.is_ok, whole
    assert wrong.failed is not None
    assert wrong.failed.name == "authenticate"
    assert unknown.failed is not None
    assert "nosuch:TEXT" in unknown.failed.fix


async def test_a_diagnosis_tells_a_backend_from_a_pgpool_and_finds_a_missing_privilege(lab: Lab) -> None:
    place, monitor, app = (lab.addresses[part] for part in ("backends", "monitor", "app"))
    no_pgpool = await diagnose(PgpoolAddress(place[0]["host"], place[0]["port"], **monitor), deadline_s=ANSWER_S)
    healthy = await diagnose_backend(backend_address(lab, 1), deadline_s=ANSWER_S)
    unprivileged = await diagnose_backend(
        backend_address(lab, 0, username=app["username"], password=app["password"]), deadline_s=ANSWER_S
    )

    assert no_pgpool.failed is not None
    assert "is a PostgreSQL server, not a pgpool" in no_pgpool.failed.text
    assert healthy.is_ok, healthy
    assert unprivileged.step("privilege").fix == f"GRANT pg_monitor TO {app['username']};"
