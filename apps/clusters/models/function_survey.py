"""Surveys of the functions of a database."""

from django.db import models

from apps.clusters.models.registry import Cluster
from apps.clusters.models.survey import Survey


class FunctionSurvey(Survey):
    """One look at pg_proc."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="function_surveys")
    result = models.JSONField(null=True, blank=True, help_text="findings, counts and what is proposed")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(state__in=["pending", "running"]),
                name="function_survey_one_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"functions of {self.database}, {self.state}"
