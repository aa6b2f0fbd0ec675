"""Signing in and out, and one's own password. Nobody signs themselves up, and nothing here needs a mail server."""

from allauth.account import views as allauth
from django.urls import path

from apps.accounts.views import sign_in

urlpatterns = [
    path("login/", allauth.login, name="account_login"),
    path("logout/", allauth.logout, name="account_logout"),
    path("inactive/", allauth.account_inactive, name="account_inactive"),
    path("password/change/", allauth.password_change, name="account_change_password"),
    path("password/set/", allauth.password_set, name="account_set_password"),
    path("sign-in/<str:key>/", sign_in.sign_in_by_link, name="sign-in-link"),
]
