"""Pages of the fleet, below /o/<organisation>/."""

from django.urls import path

from apps.fleet import views

urlpatterns = [
    path("", views.fleet, name="fleet"),
    path("fleet/table/", views.fleet_table, name="fleet-table"),
    path("fleet/sidebar/", views.sidebar, name="fleet-sidebar"),
]
