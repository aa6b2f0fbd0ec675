"""Pages of imported results: examples, pasted text, what is wrong, remove."""

from collections.abc import Callable

import pytest
from django.test import Client

from apps.benchmarks.models import BenchmarkImport
from tests.benchmarks.test_import_doors import captured
from tests.clusters.callers_at_doors import browser
from tests.clusters.test_registration_pages import problem_beside, text_of

pytestmark = pytest.mark.django_db

PAGES = "/o/acme/benchmarks/imports/"
Browsers = Callable[..., Client]


def test_an_example_shows_what_is_wrong_with_it(client_for: Browsers) -> None:
    operator = client_for("operator")
    assert 'value="pgpool_kubernetes"' in operator.get(PAGES).content.decode()

    answer = operator.post(PAGES, {"example": "pgpool_kubernetes"})

    imported = BenchmarkImport.objects.get()
    assert answer["Location"] == f"{PAGES}{imported.pk}/"
    text = text_of(operator.get(answer["Location"]))
    assert f"{imported.flagged} things to look at" in text
    assert "9.564161" in text
    assert "no number" in text
    assert imported.name in text_of(client_for("viewer").get(PAGES))


def test_pasted_output_is_taken_or_refused_with_its_line(client_for: Browsers) -> None:
    operator = client_for("operator")

    assert operator.post(PAGES, {"text": captured("pgbench-15"), "name": "by hand"}).status_code == 303

    assert BenchmarkImport.objects.get().name == "by hand"
    wrong = operator.post(PAGES, {"text": "<script>no benchmark</script>"})
    assert wrong.status_code == 422
    assert "expected" in problem_beside(wrong, "text")
    assert "<script>no" not in wrong.content.decode()
    assert "Paste what was measured." in problem_beside(operator.post(PAGES, {"text": " "}), "text")
    assert "is missing" in problem_beside(operator.post(PAGES, {"text": "{}"}), "text")


def test_one_is_removed_after_a_question(client_for: Browsers) -> None:
    operator = client_for("operator")
    address = operator.post(PAGES, {"example": "spqr_router"})["Location"]
    assert "it can be imported again" in text_of(operator.get(f"{address}remove/"))

    assert "is removed." in text_of(operator.post(f"{address}remove/", follow=True))

    assert not BenchmarkImport.objects.exists()


def test_viewers_and_strangers_import_and_remove_nothing(client_for: Browsers) -> None:
    address = client_for("operator").post(PAGES, {"example": "spqr_router"})["Location"]
    viewer, stranger = client_for("viewer"), browser("admin", organisation="globex")

    assert viewer.get(address).status_code == 200
    assert viewer.post(PAGES, {"example": "spqr_router"}).status_code == 403
    assert viewer.post(f"{address}remove/").status_code == 403
    assert stranger.get(address).status_code == 404
    assert stranger.post(f"{address}remove/").status_code == 404
