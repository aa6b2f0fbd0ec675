"""Pages of benchmarks, below /o/<organisation>/."""

from django.urls import path

from apps.benchmarks.views import run_list, runs

urlpatterns = [
    path("benchmarks/", run_list.run_list, name="run-list"),
    path("benchmarks/runs/<int:pk>/", runs.run_detail, name="run"),
    path("benchmarks/runs/<int:pk>/now/", runs.run_now, name="run-now"),
    path("benchmarks/runs/<int:pk>/stop/", runs.run_stop, name="run-stop"),
]
