"""Surveys of how often the tables of a database are written."""

from django.db import models

from apps.clusters.models.registry import Cluster
from apps.clusters.models.survey import Survey


class TableSurvey(Survey):
    """Two samples of pg_stat_user_tables of the primary; between them no worker has it, until its lease is over."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="table_surveys")
    first_sample = models.JSONField(null=True, blank=True, help_text="of which backend, when, rows written by table")
    result = models.JSONField(null=True, blank=True, help_text="the tables written most, and between which times")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(state__in=["pending", "running"]),
                name="table_survey_one_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"tables of {self.database}, {self.state}"
