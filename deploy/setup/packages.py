"""The programs of the distribution: which are missing, and how to install them without starting any server.

Debian's packages start PostgreSQL on 5432, Redis on 6379 and Pgpool-II on 9999 as soon as they are installed. Nobody
asked for those, so their start is forbidden while apt runs and switched off for the next boot; whatever was installed
before stays as it was.
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.setup.steps import run_step, say

# apt itself goes through these; sudo would drop them.
KEPT_BY_SUDO = (
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
UNIT_DIRECTORIES = ("/etc/init.d", "/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system")
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_KEPT_ASIDE = Path("/usr/sbin/policy-rc.d.before-lifeguard")
NO_MAIN_CLUSTER = Path("/etc/postgresql-common/createcluster.d/lifeguard-setup.conf")
OUR_POLICY_MARK = "# lifeguard-setup"
WHOLE_STATES = ("installed", "not-installed", "config-files")


class NoPackageManager(RuntimeError):
    """This machine has no apt-get."""


@dataclass(frozen=True)
class Package:
    name: str
    purpose: str
    is_present: Callable[[], bool]
    for_tests_only: bool = False
    unit: str | None = None  # a server that would start with the machine


def has_program(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is not None


PACKAGES = (
    Package("ca-certificates", "to download over TLS", Path("/etc/ssl/certs/ca-certificates.crt").exists),
    Package("python3-venv", "a Python of its own", lambda: importlib.util.find_spec("ensurepip") is not None),
    Package("procps", "to look at processes", has_program("ps")),
    Package("iproute2", "to look at ports", has_program("ss")),
    Package(
        "postgresql", "the lab's backends and Lifeguard's own database",
        lambda: any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or has_program("initdb")(),
    ),
    Package("pgpool2", "the lab's Pgpool-II", has_program("pgpool"), unit="pgpool2"),
    Package("pgbouncer", "the lab's PgBouncer, to compare with", has_program("pgbouncer"), unit="pgbouncer"),
    Package("redis-server", "nudges for workers and live points", has_program("redis-server"), unit="redis-server"),
    Package("memcached", "calibrations of the query cache in it", has_program("memcached"), unit="memcached"),
    Package("sysbench", "benchmark runs of sysbench", has_program("sysbench"), for_tests_only=True),
    Package("haproxy", "runs through a TCP balancer", has_program("haproxy"), for_tests_only=True, unit="haproxy"),
    Package("openssh-server", "delivery by SSH", has_program("sshd"), for_tests_only=True, unit="ssh"),
    Package("sudo", "delivery by SSH to a file of another account", has_program("sudo"), for_tests_only=True),
    Package("chromium", "the browser tests", has_program("chromium"), for_tests_only=True),
    Package(
        "fonts-dejavu-core", "letters for the browser tests",
        lambda: any(Path("/usr/share/fonts").glob("**/DejaVuSans.ttf")), for_tests_only=True,
    ),
)  # fmt: skip


def missing_packages(*, with_tests: bool) -> list[Package]:
    cut_off = half_installed()
    wanted = [package for package in PACKAGES if with_tests or not package.for_tests_only]
    return [package for package in wanted if package.name in cut_off or not package.is_present()]


def half_installed() -> set[str]:
    """Of ours, those whose installation was cut off: their programs are there, their accounts may not be."""
    asked = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n"]
    try:
        said = subprocess.run(
            [*asked, *(package.name for package in PACKAGES)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return set()
    states = [line.split() for line in said.stdout.splitlines()]
    return {name for name, state in states if state not in WHOLE_STATES}


def units_there_before() -> set[str]:
    """Without those that a cut off installation of ours left: nobody asked for them either."""
    names: set[str] = set()
    for directory in map(Path, UNIT_DIRECTORIES):
        if directory.is_dir():
            names |= {entry.name.removesuffix(".service") for entry in directory.iterdir()}
    cut_off = half_installed()
    return names - {package.unit for package in PACKAGES if package.unit and package.name in cut_off}


def policy_script(*, known: set[str], kept_aside: Path | None) -> str:
    """A policy-rc.d: units that were there before go on as ever, new ones stay off (101: forbidden by policy)."""
    as_ever = f'exec {shlex.quote(str(kept_aside))} "$@"' if kept_aside else "exit 0"
    names = "|".join(sorted(shlex.quote(name) for name in known)) or "''"
    return f'#!/bin/sh\n{OUR_POLICY_MARK}\ncase "${{1%.service}}" in\n{names}) {as_ever} ;;\nesac\nexit 101\n'


def install_script(packages: Sequence[Package], policy: Path) -> str:
    """What runs as root, in one go, so that sudo asks once; the trap puts everything back, whatever happens."""
    names = " ".join(package.name for package in packages)
    off = "\n".join(
        f"update-rc.d {package.unit} disable >/dev/null 2>&1 || true" for package in packages if package.unit
    )
    apt = "apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3"
    return f"""set -eu
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C.UTF-8
put_back() {{
    rm -f {NO_MAIN_CLUSTER} {POLICY}
    if [ -e {POLICY_KEPT_ASIDE} ]; then mv {POLICY_KEPT_ASIDE} {POLICY}; fi
}}
trap put_back EXIT
trap 'exit 130' INT TERM HUP
if [ -e {POLICY} ] && ! grep -q '{OUR_POLICY_MARK}' {POLICY}; then mv {POLICY} {POLICY_KEPT_ASIDE}; fi
install -m 0755 {shlex.quote(str(policy))} {POLICY}
install -d {NO_MAIN_CLUSTER.parent}
echo 'create_main_cluster = false' > {NO_MAIN_CLUSTER}
dpkg --configure -a
{apt} update
{apt} install -y --no-install-recommends {names}
{off}
"""


def as_root(command: Sequence[str]) -> list[str]:
    if os.geteuid() == 0:
        return list(command)
    if shutil.which("sudo") is None:
        raise PermissionError(
            f"root is needed to install packages and there is no sudo. As root run: {shlex.join(command)}"
        )
    kept = ",".join(name for name in KEPT_BY_SUDO if name in os.environ)
    return ["sudo", *([f"--preserve-env={kept}"] if kept else []), *command]


def is_policy_kept_aside() -> bool:
    """Either there is a policy of the machine's own now, or a set-up that was killed left it aside."""
    if POLICY_KEPT_ASIDE.exists():
        return True
    return POLICY.exists() and OUR_POLICY_MARK not in POLICY.read_text(errors="replace")


def install(packages: Sequence[Package]) -> None:
    say("Missing on this machine, installed with apt now:")
    for package in packages:
        say(f"  {package.name:20} {package.purpose}")
    if shutil.which("apt-get") is None:
        raise NoPackageManager("There is no apt-get here. Install the programs listed above, then run this again.")
    if os.geteuid() != 0:
        # Here and not in the step: the question for a password must be seen.
        subprocess.run(as_root(["true"]), check=True)
    with tempfile.TemporaryDirectory(prefix="lifeguard-setup-") as directory:
        policy = Path(directory, "policy-rc.d")
        kept_aside = POLICY_KEPT_ASIDE if is_policy_kept_aside() else None
        policy.write_text(policy_script(known=units_there_before(), kept_aside=kept_aside))
        script = Path(directory, "install.sh")
        script.write_text(install_script(packages, policy))
        run_step("packages", as_root(["sh", str(script)]))
    still_missing = [package.name for package in packages if not package.is_present()]
    if still_missing:
        raise RuntimeError(f"apt ended well, yet these cannot be found: {', '.join(still_missing)}")
