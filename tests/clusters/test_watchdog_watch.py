"""When the watchdog of a pgpool is asked, and what is kept of its answers."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts.models import Organisation
from apps.clusters.models import PgpoolInstance, WatchdogLatest
from apps.clusters.outside.pcp import PcpAddress
from apps.clusters.polling import watchdog_watch
from apps.clusters.polling.readings import InstanceReading, Tick, WatchdogReading
from apps.clusters.polling.watchdog_told import note_watchdogs
from apps.clusters.polling.watchdog_watch import WatchdogWatch
from tests.clusters.domain.test_watchdog import told
from tests.clusters.seen_cluster import register
from tests.fake_pgpool import FakePgpool

NOW = datetime(2026, 3, 17, 14, 32, tzinfo=UTC)


async def looked(watch: WatchdogWatch, address: PcpAddress | None) -> WatchdogReading | None:
    """What the look after the next one brings, when whatever was begun has ended."""
    watch.look(address)
    if watch._asking is not None:
        await asyncio.wait({watch._asking})
    return watch.look(address)


async def test_it_is_asked_beside_the_looks_and_rarely_where_none_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakePgpool() as pgpool:
        address = PcpAddress(pgpool.host, pgpool.pcp_port, pgpool.pcp_username, pgpool.pcp_password)
        watch = WatchdogWatch()

        assert await looked(watch, address) == WatchdogReading(None)
        monkeypatch.setattr(watchdog_watch, "EVERY_S", 0.0)
        assert await looked(watch, address) is None  # 60 s are not over
        await watch.close()


async def test_a_pgpool_that_is_silent_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog_watch, "DEADLINE_S", 0.2)
    async with FakePgpool() as pgpool:
        pgpool.mode = "hang"
        address = PcpAddress(pgpool.host, pgpool.pcp_port, pgpool.pcp_username, pgpool.pcp_password)
        watch = WatchdogWatch()

        reading = await looked(watch, address)

        assert reading is not None
        assert "did not answer PCP within 0.2 s" in reading.reason
        await watch.close()


async def test_without_pcp_nobody_can_tell() -> None:
    watch = WatchdogWatch()

    assert watch.look(None) == WatchdogReading(None, watchdog_watch.NO_PCP)
    assert watch.look(None) is None


def tick(instance: PgpoolInstance, reading: WatchdogReading | None, *, seconds: int) -> None:
    one = InstanceReading(instance.pk, "answering", watchdog=reading)
    note_watchdogs(Tick(NOW + timedelta(seconds=seconds), 1, (one,), ()))


@pytest.mark.django_db
def test_what_is_told_again_keeps_its_since_and_a_silence_keeps_what_was_told(organisation: Organisation) -> None:
    [instance] = register(organisation, pgpools=1).instances.all()

    def row() -> tuple[str, int, int, int]:
        kept = WatchdogLatest.objects.get()
        since, asked = ((at - NOW).seconds for at in (kept.since, kept.asked_at))
        return kept.state, since, asked, len(kept.told.get("nodes", []))

    on = WatchdogReading(told("all-up", "pgpool-1"))
    tick(instance, on, seconds=0)
    tick(instance, None, seconds=5)
    tick(instance, on, seconds=10)
    assert row() == ("on", 0, 10, 3)

    tick(instance, WatchdogReading(None, "pgpool-1 is gone."), seconds=20)
    assert row() == ("unknown", 20, 20, 3)
    tick(instance, on, seconds=30)
    assert row() == ("on", 30, 30, 3)
    tick(instance, WatchdogReading(None), seconds=40)
    assert row() == ("off", 40, 40, 0)
