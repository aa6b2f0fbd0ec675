"""What stories that wish for weights leave behind, and how a rollout of theirs ends without a worker."""

from pathlib import Path

from apps.accounts.models import AuditEntry
from apps.clusters.models import ClusterEvent, ConfigRevision, Rollout
from tests.clusters.rollout_scene import NOW


def assert_nothing_stored() -> None:
    assert not Rollout.objects.exists()
    assert not ConfigRevision.objects.exists()
    assert not AuditEntry.objects.exists()
    assert not ClusterEvent.objects.exists()


def finish(rollout: Rollout, state: str = "verified") -> None:
    """As if a worker had carried it to this end."""
    for step in rollout.steps.select_related("instance", "file"):
        assert step.instance is not None
        if state == "verified":
            Path(step.instance.delivery_path).write_text(step.file.text)
        rollout.steps.filter(pk=step.pk).update(state=state, is_touched=True)
    Rollout.objects.filter(pk=rollout.pk).update(state=state, finished_at=NOW)
