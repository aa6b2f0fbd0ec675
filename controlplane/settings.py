"""Settings of every process of Lifeguard: from the environment (README, "Run it for real"), or standing here."""

import os
import warnings
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from controlplane import __version__, environment

BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRON = os.environ

DEBUG = environment.boolean(ENVIRON, "LIFEGUARD_DEBUG", default=False)
SECRET_KEY = environment.required(ENVIRON, "LIFEGUARD_SECRET_KEY")
ENCRYPTION_KEYS = environment.encryption_keys(ENVIRON, "LIFEGUARD_ENCRYPTION_KEYS")
PUBLIC_URL = environment.web_origin(ENVIRON, "LIFEGUARD_PUBLIC_URL", default="http://127.0.0.1:8000")
ALLOWED_HOSTS = environment.words(ENVIRON, "LIFEGUARD_ALLOWED_HOSTS", default="127.0.0.1,localhost")
LOCAL_DELIVERY_DIRECTORIES = environment.delivery_directories(ENVIRON, "LIFEGUARD_LOCAL_DELIVERY_DIRS")
RESTART_COMMANDS = environment.restart_commands(ENVIRON, "LIFEGUARD_RESTART_COMMANDS")
SSH_AGENTS = environment.delivery_directories(ENVIRON, "LIFEGUARD_SSH_AGENT", what="socket")
FILES_EVERY_S = environment.integer(ENVIRON, "LIFEGUARD_FILES_EVERY_S", default=30, lowest=1, highest=30)
POLL_SHARDS = environment.integer(ENVIRON, "LIFEGUARD_POLL_SHARDS", default=1, lowest=1, highest=64)
IS_HTTPS = PUBLIC_URL.startswith("https://")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "channels",
    "django_htmx",
    "django_vite",
    "csp",
    "controlplane",
    "apps.accounts",
    "apps.live",
    "apps.clusters",
    "apps.benchmarks",
    "apps.query_cache",
    "apps.costs",
    "apps.fleet",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "controlplane.middleware.PrivateMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "controlplane.middleware.SlashMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "controlplane" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "controlplane.context.frame",
                "apps.clusters.context.frame",
            ],
            "builtins": [
                "controlplane.templatetags.figures",
                "controlplane.templatetags.controls",
                "controlplane.templatetags.words",
            ],
        },
    }
]

_database = environment.database(ENVIRON, "LIFEGUARD_DATABASE_URL")
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": _database.host,
        "PORT": _database.port,
        "NAME": _database.name,
        "USER": _database.username,
        "PASSWORD": _database.password,
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 5},
        "TEST": {"NAME": f"test_{_database.name}"},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = environment.redis_url(ENVIRON, "LIFEGUARD_REDIS_URL")

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
# The address is unique whatever its case: a constraint on lower(email), which this check does not see.
SILENCED_SYSTEM_CHECKS = ["auth.W004"]
ACCOUNT_ADAPTER = "apps.accounts.adapter.ClosedAccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_SESSION_REMEMBER = True
# Counted by each web process for itself, see CACHES: with several of them the limits are that many times as high.
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key"}

# Sessions and the cache live in PostgreSQL or in the process: Redis may vanish and people stay signed in.
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_AGE = 14 * 86400
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_HTTPS
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_FAILURE_VIEW = "controlplane.home.csrf_refused"
SECURE_SSL_REDIRECT = False
SECURE_HSTS_SECONDS = 31_536_000 if IS_HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if IS_HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        # Plotly positions its parts by style attributes, and bars carry their width as a custom property.
        "style-src-attr": ["'unsafe-inline'"],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.accounts.tokens.TokenAuthentication",
        "apps.accounts.tokens.BrowserSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["apps.accounts.access.MayUseApi"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "controlplane.negotiation.ProblemsAccepted",
    "DEFAULT_PARSER_CLASSES": ["controlplane.problems.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "controlplane.problems.problem_answer",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Lifeguard",
    "VERSION": __version__,
    "DESCRIPTION": "Watch and steer PostgreSQL clusters behind Pgpool-II. Errors are problem+json (RFC 9457).",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    # Several things have a kind.
    "ENUM_NAME_OVERRIDES": {"EndpointKind": "apps.benchmarks.models.BenchmarkEndpoint.Kind"},
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "controlplane.openapi.describe_problems",
    ],
}

STATIC_URL = "/static/"
FRONTEND_DIST = BASE_DIR / "frontend" / "dist"
STATICFILES_DIRS = [FRONTEND_DIST]
# Vite names every file by its content, so the files are served straight from where they were built.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
WHITENOISE_IMMUTABLE_FILE_TEST = r"^.+[.-][0-9a-zA-Z_-]{8}\..+$"
DJANGO_VITE = {
    "default": {
        "dev_mode": False,
        "manifest_path": FRONTEND_DIST / "manifest.json",
        "static_url_prefix": "",
    }
}
# Under ASGI, Django reads WhiteNoise's files in a thread and warns about each; the files are small.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators", append=False)

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    "clusters.watch_shard": {"queue": "poll"},
    "clusters.advance_rollout": {"queue": "rollout"},
    "clusters.advance_rollouts": {"queue": "rollout"},
    "clusters.apply_role_weights": {"queue": "rollout"},
    "clusters.settle_debts": {"queue": "rollout"},
    "clusters.advance_backend_operation": {"queue": "rollout"},
    "clusters.advance_backend_operations": {"queue": "rollout"},
    "clusters.advance_restart": {"queue": "rollout"},
    "clusters.advance_restarts": {"queue": "rollout"},
    # Runs go to the queue of their row, by name: the load of a cluster comes from the AZ that its workers stand in.
    "benchmarks.carry_out_run": {"queue": "bench"},
}
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 2, "visibility_timeout": 3600}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"
# A tick that nobody took in time is worth nothing: the next one does the same work from the rows.
CELERY_BEAT_SCHEDULE = {
    **{
        f"watch-shard-{shard}": {
            "task": "clusters.watch_shard",
            "schedule": 5.0,
            "args": [shard],
            "options": {"expires": 5},
        }
        for shard in range(POLL_SHARDS)
    },
    "advance-rollouts": {"task": "clusters.advance_rollouts", "schedule": 2.0, "options": {"expires": 2}},
    "look-at-files": {
        "task": "clusters.look_at_files",
        "schedule": float(min(FILES_EVERY_S, 5)),
        "options": {"expires": 5},
    },
    "apply-role-weights": {"task": "clusters.apply_role_weights", "schedule": 2.0, "options": {"expires": 2}},
    "settle-debts": {"task": "clusters.settle_debts", "schedule": 3.0, "options": {"expires": 3}},
    "survey-functions": {"task": "clusters.survey_functions", "schedule": 3.0, "options": {"expires": 3}},
    "survey-tables": {"task": "clusters.survey_tables", "schedule": 3.0, "options": {"expires": 3}},
    "advance-backend-operations": {
        "task": "clusters.advance_backend_operations",
        "schedule": 2.0,
        "options": {"expires": 2},
    },
    "advance-restarts": {"task": "clusters.advance_restarts", "schedule": 2.0, "options": {"expires": 2}},
    "advance-runs": {"task": "benchmarks.advance_runs", "schedule": 2.0, "options": {"expires": 2}},
    "keep-history": {"task": "clusters.keep_history", "schedule": 3600.0, "options": {"expires": 600}},
    "forget-sessions": {"task": "accounts.forget_sessions", "schedule": 3600.0, "options": {"expires": 600}},
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "psycopg": {"level": "ERROR"},
        # Ticks come every few seconds; what they do is in the rows.
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
    },
}
