"""Tables of people, organisations, memberships, API tokens, one-time sign-in links and the audit trail."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower

from apps.accounts.roles import Role


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractBaseUser):
    """A person who signs in with an e-mail address."""

    email = models.EmailField(max_length=254)
    name = models.CharField(max_length=120, blank=True, help_text="shown in the audit trail and on rollouts")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[UserManager] = UserManager()
    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique")]

    def __str__(self) -> str:
        return self.email

    @property
    def shown_name(self) -> str:
        return self.name or self.email


class Organisation(models.Model):
    """Owns clusters and everything about them."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    is_observe_only = models.BooleanField(default=False, help_text="its clusters are watched, and never written to")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "user"], name="membership_unique"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.organisation_id} as {self.role}"


class ApiToken(models.Model):
    """A key to the REST interface of one organisation; acts as the member who made it, never as more."""

    class Scope(models.TextChoices):
        READ = "read", "read"  # GET only
        WRITE = "write", "write"  # all that its member may

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80, help_text="what uses it")
    prefix = models.CharField(max_length=16, help_text="first characters, to recognise it by")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token, in hex")
    scope = models.CharField(max_length=5, choices=Scope.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    latest_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(scope__in=["read", "write"]), name="token_scope_known")
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"


class SignInLink(models.Model):
    """Signs one person in, once, for a short time."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the link's key, in hex")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"link of {self.user_id} until {self.expires_at:%Y-%m-%d %H:%M}"


class AuditEntry(models.Model):
    """One write: who, what, before, after, when, from where. Append-only."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="audit_entries")
    at = models.DateTimeField(auto_now_add=True)
    # The trail outlives the person: the name stands in actor_name.
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    token = models.ForeignKey(ApiToken, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    actor_name = models.CharField(max_length=254)
    address = models.GenericIPAddressField(null=True, blank=True)
    action = models.CharField(max_length=60, help_text="as cluster.registered, weights.requested, token.revoked")
    target_type = models.CharField(max_length=40)
    target_id = models.CharField(max_length=40)
    target_name = models.CharField(max_length=200)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)

    class Meta:
        # Lists are read newest first by key, which no clock can put in another order.
        indexes = [models.Index(fields=["organisation", "-id"], name="audit_newest_first")]

    def __str__(self) -> str:
        return f"{self.action} {self.target_name}"
