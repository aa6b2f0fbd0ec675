"""Pages of benchmarks, below /o/<organisation>/."""

from django.urls import path

from apps.benchmarks.views import run_list

urlpatterns = [
    path("benchmarks/", run_list.run_list, name="run-list"),
]
