"""What holds for every test: markers by folder, the cheap ones first, and who was there (program versions)."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from deploy.lab.binaries import ProgramMissing, find_binaries
from tests import side_by_side
from tests.side_by_side import HEAVY_FOLDERS

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from apps.accounts.access import Caller
    from apps.accounts.models import Membership, Organisation
    from tests.product import Product

HERE = Path(__file__).parent
PGBENCH_TABLES = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"

# A machine under load takes long for any example; no property fails by that.
settings.register_profile("lifeguard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lifeguard")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(side_by_side)


def marked_folder(item: pytest.Item) -> str | None:
    top = item.path.relative_to(HERE).parts[0]
    return top if top in HEAVY_FOLDERS else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks come before -m chooses by them, the order after all others have had their say."""
    has_second_try = config.getoption("reruns", default=None) is None
    for item in items:
        folder = marked_folder(item)
        if folder is not None:
            item.add_marker(getattr(pytest.mark, folder))
        if has_second_try and "domain" not in item.path.parts and item.get_closest_marker("check") is None:
            # Servers, real or fake, on a busy machine: one second try, which the summary shows.
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=2))
    yield
    # In one process the cheap ones first; in several what takes longest, so that nobody waits for it at the end.
    is_one_of_several = hasattr(config, "workerinput")
    order = [*HEAVY_FOLDERS, None] if is_one_of_several else [None, *HEAVY_FOLDERS]
    items.sort(key=lambda item: order.index(marked_folder(item)))


def pytest_report_header() -> str:
    try:
        binaries = find_binaries()
    except ProgramMissing as error:
        return f"lab: {error}"
    return f"lab: Pgpool-II {binaries.pgpool_version_text}, PostgreSQL {binaries.postgres_version}"


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Product]":
    """Lifeguard with its workers on a real cluster, once for all tests that drive the whole of it."""
    from tests.product import running_product

    with running_product(tmp_path_factory.mktemp("product")) as product:
        yield product


@pytest.fixture
def restored(product: "Product") -> "Iterator[Product]":
    """The product for a test that changes or breaks something; it is put right afterwards."""
    yield product
    product.restore()


@pytest.fixture
def loadable_product(restored: "Product") -> "Iterator[Product]":
    """The product for a test that puts its cluster under load: what runs leave is put away, and load not allowed."""
    begun = datetime.now(UTC)
    yield restored
    restored.ask("clusters/orders/benchmarks/", method="PUT", body={"is_on": False})
    restored.forget_reads(begun)
    backends = restored.lab.backends
    with backends.connect(backends.primary, restored.lab.addresses["app"]["database"]) as superuser:
        superuser.execute(f"DROP TABLE IF EXISTS {PGBENCH_TABLES}".encode())


@pytest.fixture
def organisation(db: None) -> "Organisation":
    from apps.accounts.models import Organisation

    return Organisation.objects.create(slug="acme", name="Acme")


@pytest.fixture
def other_organisation(db: None) -> "Organisation":
    from apps.accounts.models import Organisation

    return Organisation.objects.create(slug="rival", name="Rival")


@pytest.fixture
def member(organisation: "Organisation") -> "Callable[..., Membership]":
    """member("operator") is the operator of the organisation, one and the same however often it is asked for."""
    from apps.accounts.models import Membership, User

    def make(role: str = "admin", *, of: "Organisation | None" = None) -> "Membership":
        home = of or organisation
        user, _ = User.objects.get_or_create(
            email=f"{role}@{home.slug}.example", defaults={"name": role.title(), "password": "!"}
        )
        membership, _ = Membership.objects.get_or_create(organisation=home, user=user, defaults={"role": role})
        return membership

    return make


@pytest.fixture
def caller(member: "Callable[..., Membership]") -> "Callable[..., Caller]":
    """caller("operator") as stories and queries take it."""
    from apps.accounts.access import Caller

    def make(role: str = "admin", **options: Any) -> "Caller":
        membership = member(role, **options)
        return Caller(membership.user, membership.organisation, membership.role, None, "192.0.2.7")

    return make


@pytest.fixture
def client_for(member: "Callable[..., Membership]") -> "Callable[..., Client]":
    """client_for("viewer") is a browser in which the viewer is signed in."""
    from django.test import Client

    def make(role: str = "admin", **options: Any) -> "Client":
        browser = Client()
        browser.force_login(member(role, **options).user)
        return browser

    return make


@pytest.fixture
def api_client(caller: "Callable[..., Caller]") -> "Callable[..., APIClient]":
    """api_client("operator", scope="read") is a script with a token of that scope, made by the operator."""
    from django.utils import timezone
    from rest_framework.test import APIClient

    from apps.accounts.tokens import create_token

    def make(role: str = "admin", *, scope: str = "write", **options: Any) -> "APIClient":
        now = timezone.now()
        maker = caller(role, **options)
        _, secret = create_token(
            caller=maker, name=f"{role} {scope}", scope=scope, expires_at=now + timedelta(days=1), now=now
        )
        script = APIClient()
        script.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        return script

    return make
