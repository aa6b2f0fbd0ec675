"""Who is the primary of the lab, and the command by which its pgpools make a standby the next one."""

import shlex
from pathlib import Path

from deploy.lab.account import Account
from deploy.lab.binaries import Binaries
from deploy.lab.plan import Backend, Plan

# Said by whoever promotes one: a primary that died looks no different from one that is still it.
PRIMARY, WISH = "primary", "next-primary"
# pgpool: %d the backend that is lost, %P the old primary, %m the first one that is alive.
COMMAND = "/bin/sh {script} %d %P %m"
SCRIPT = """\
#!/bin/sh
# failover_command of the lab's pgpools: promotes a standby, and lets the others follow it.
exec >>{data}/failover.log 2>&1
echo "lost $1, primary was $2, first alive $3"
[ "$1" = "$2" ] || exit 0
next=$3
[ -s {data}/{wish} ] && next=$(cat {data}/{wish})
rm -f {data}/{wish}
case $next in
{cases}
*) exit 0 ;;
esac
# Several pgpools may ask, and one may ask again: the first one has promoted it then.
[ "$(cat {data}/{primary} 2>/dev/null)" = "$name" ] && exit 0
{pg_ctl} promote -w -D {data}/$name || exit 1
echo $name >{data}/{primary}
for other in {names}; do
  [ -f {data}/$other/standby.signal ] || continue
  sed -i "s/^\\(primary_conninfo = .* port=\\)[0-9]*/\\1$port/" {data}/$other/lab.conf
  {pg_ctl} reload -D {data}/$other
done
exit 0
"""


def primary_of(data: Path, plan: Plan) -> Backend:
    """The backend that was promoted latest; the first one as long as none was."""
    note = data / PRIMARY
    name = note.read_text(encoding="utf-8").strip() if note.exists() else ""
    return next((backend for backend in plan.backends if backend.name == name), plan.backends[0])


def command(data: Path) -> str:
    return COMMAND.format(script=data / "failover.sh")


def write_script(data: Path, plan: Plan, binaries: Binaries, account: Account) -> None:
    cases = "\n".join(f"{one.node_id}) name={one.name} port={one.port} ;;" for one in plan.backends)
    text = SCRIPT.format(
        data=shlex.quote(str(data)),
        wish=WISH,
        primary=PRIMARY,
        cases=cases,
        names=" ".join(backend.name for backend in plan.backends),
        pg_ctl=shlex.quote(binaries.postgres("pg_ctl")),
    )
    account.file(data / "failover.sh", text)


def wish_for(backend: Backend, data: Path, account: Account) -> None:
    """The next failover promotes this one, whichever pgpool would choose."""
    account.file(data / WISH, f"{backend.node_id}\n")
