"""Results of others: what a team or a publication measured, kept as it was given."""

from django.db import models

from apps.accounts.models import Organisation, User


class BenchmarkImport(models.Model):
    """The text is read anew whenever it is shown, so that a better reader tells more of old imports."""

    class Kind(models.TextChoices):
        DOCUMENT = "document", "document"  # in the import format, docs/import-format.md
        OUTPUT = "output", "output"  # what pgbench or sysbench printed

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="benchmark_imports")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    text = models.TextField()
    results_count = models.PositiveIntegerField(default=0)
    flagged = models.PositiveIntegerField(default=0, help_text="what its checks found wrong when it came")
    note = models.CharField(max_length=500, blank=True)
    imported_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    imported_by_name = models.CharField(max_length=254)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["organisation", "-id"], name="import_of_organisation")]

    def __str__(self) -> str:
        return self.name
