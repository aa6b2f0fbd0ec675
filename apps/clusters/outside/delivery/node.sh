#!/bin/sh
# What Lifeguard may do to a pgpool.conf on this host, and nothing else. Installed as the forced command of an account:
#
#   command="/usr/local/lib/lifeguard/node /etc/pgpool2/pgpool.conf",restrict ssh-ed25519 AAAA… lifeguard@acme
#
# Its arguments are the files that may be touched. What is wanted comes in SSH_ORIGINAL_COMMAND, or after "--":
#   read FILE | dry-run FILE | write FILE OLD NEW TAG | reload FILE | restart FILE, with "sudo" before it to run as root.
# Every answer begins with the line "lifeguard-node 1"; "refused CODE why" ends one that did nothing.
set -fu
umask 077
export LC_ALL=C PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/pgpool/bin"
largest=1048576
draft='' folder='' unsafe='' as='' me=$(id -un)

refuse() { # CODE WORDS…
    code=$1; shift
    printf 'refused %s %s\n' "$code" "$*"
    exit 3
}

tidy_up() {
    [ -z "$draft" ] || $as rm -f -- "$draft"
    [ -z "$folder" ] || rm -rf -- "$folder"
}
trap tidy_up EXIT
trap 'exit 3' HUP INT TERM PIPE

# Hundredths of a second, of a clock that nobody sets.
ticks() {
    if read -r up _ 2>/dev/null </proc/uptime; then echo "${up%.*}${up#*.}"; else echo "$(date +%s)00"; fi
}

sha() { $as cat -- "$1" | sha256sum | cut -d ' ' -f 1; }

facts() { stat -c '%a %U:%G' -- "$1" 2>/dev/null; }

# Whoever may write in a directory can put a link in the place of a file between two steps of root. So root acts there as
# the owner of the directory, and writes nowhere where others than root may: unsafe says why.
act_as_owner() {
    [ "$(id -u)" = 0 ] || return 0
    place=${real%/*} owner=$(stat -c %U -- "${real%/*}/")
    if [ "$owner" != root ]; then
        group=$(id -g -- "$owner" 2>/dev/null) && as="setpriv --reuid=$owner --regid=$group --init-groups --" me=$owner
        $as true 2>/dev/null && [ -n "$as" ] && return 0
        as='' me=root unsafe="${real%/*} belongs to $owner, and that host has no way to act as $owner: install setpriv (util-linux)"
        return 0
    fi
    while :; do
        case $(stat -c '%u %A' -- "$place/") in
            '0 d'????-??-?|'0 d'????????[tT]) ;;
            *) unsafe="others than root may write in $place/, where root does not: chmod go-w it, or give file and directory to pgpool's account"; return 0 ;;
        esac
        [ -n "$place" ] || return 0
        place=${place%/*}
    done
}

find_file() {
    real=$(readlink -f -- "$1") || refuse missing "$1 leads nowhere"
    case $real in *.conf) ;; *) refuse denied "$real is no configuration file: its name must end in .conf" ;; esac
    [ -e "$real" ] || refuse missing "$real does not exist, or its directory may not be entered by $(id -un)"
    [ -f "$real" ] || refuse unreadable "$real is not a regular file"
    act_as_owner
    $as test -r "$real" || refuse unreadable "$real may not be read by $me"
    size=$(stat -c %s -- "$real") || refuse unreadable "$real cannot be looked at"
    [ "$size" -le "$largest" ] || refuse unreadable "$real is larger than 1 MiB: that is no pgpool.conf"
}

# Why write would fail, empty if it would not.
obstacle() {
    [ -z "$unsafe" ] || { echo "$unsafe"; return; }
    $as test -w "${real%/*}/" || { echo "$me may not write in ${real%/*}/"; return; }
    [ "$($as id -u)" = 0 ] && return
    [ "$(stat -c %u -- "$real")" = "$($as id -u)" ] || { echo "it belongs to $(stat -c %U -- "$real"), and $me could not keep it so"; return; }
    $as id -G | tr ' ' '\n' | grep -qx "$(stat -c %g -- "$real")" || echo "its group is $(stat -c %G -- "$real"), and $me could not keep it so"
}

do_read() {
    find_file "$1"
    program=$(command -v pgpool) || program=''
    printf 'file %s\nfacts %s\nobstacle %s\npgpool %s\naccount %s\nshell %s\n\n' \
        "$real" "$(facts "$real")" "$(obstacle)" "$program" "$(id -un)" "$is_open"
    $as timeout 3 head -c "$largest" -- "$real"
}

# pgpool has no check option, but "reload" parses the file first and then fails to find this pid file. One that logs to
# syslog, or next to nothing, would keep its words to itself; one with a watchdog reads its own number first.
do_dry_run() {
    program=$(command -v pgpool) || refuse unavailable "no pgpool program is installed on that host"
    folder=$(mktemp -d) || refuse unavailable "no temporary directory can be made on that host"
    printf 'ready\n'
    head -c "$largest" >"$folder/pgpool.conf" || refuse unavailable "the file could not be kept in $folder"
    printf "\npid_file_name = '/nonexistent/lifeguard.pid'\nlog_destination = 'stderr'\nlog_min_messages = warning\n" \
        >>"$folder/pgpool.conf"
    echo 0 >"$folder/pgpool_node_id"
    cd "$folder" || exit 3
    timeout 5 "$program" -f "$folder/pgpool.conf" reload </dev/null >"$folder/said" 2>&1
    code=$?
    case $code in 124|126|127) refuse unavailable "the pgpool program of that host gave no answer (code $code)" ;; esac
    printf 'code %s\nfile %s\n\n' "$code" "$folder/pgpool.conf"
    head -c 20000 "$folder/said"
}

do_write() { # FILE OLD NEW TAG; on the input the hundredths of a second that are left, then the file
    begun=$(ticks)
    find_file "$1"
    [ -z "$unsafe" ] || refuse failed "$real is not replaced: $unsafe"
    case $4 in ''|*[!A-Za-z0-9._-]*|.*) refuse denied "$4 cannot be part of a file name" ;; esac
    printf 'ready\n'
    read -r left || refuse late "the connection was lost"
    case $left in ''|*[!0-9]*|??????????*) refuse denied "how much time is left is not told" ;; esac
    kept=$real.lifeguard-$4
    keep_old "$2"
    draft_of "$real"
    # shellcheck disable=SC2016
    $as sh -c 'exec head -c "$1" >"$2"' sh "$largest" "$draft" || refuse failed "$real could not be replaced: $draft could not be written"
    [ "$(sha "$draft")" = "$3" ] || refuse failed "$real was not replaced: the new file did not arrive whole, or the disk is full"
    $as sync -- "$draft" 2>/dev/null || sync
    found=$(sha "$real")
    [ "$found" = "$2" ] || refuse changed "$found"
    [ $(($(ticks) - begun)) -lt "$left" ] || refuse late "$real was not replaced: this host or the way to it was held up for too long"
    $as mv -fT -- "$draft" "$real" || refuse failed "$real could not be replaced"
    draft=''
    sync -- "${real%/*}/" 2>/dev/null
    forget_old_copies
    printf 'kept %s\n' "$kept"
}

# A copy beside the file, with its owner, mode and attributes.
draft_of() {
    draft=$($as mktemp "${1%/*}/.${1##*/}.lifeguard-XXXXXX") || refuse failed "$real cannot be replaced: $me may not write in ${1%/*}/"
    $as cp -p -- "$1" "$draft" || refuse failed "$real cannot be replaced: no copy can be made beside it"
    [ "$(facts "$1")" = "$(facts "$draft")" ] || refuse failed "$real cannot be replaced: $me could not keep its owner $(facts "$1")"
}

keep_old() { # OLD
    found=$(sha "$real")
    [ "$found" = "$1" ] || refuse changed "$found"
    draft_of "$real"
    [ "$(sha "$draft")" = "$1" ] || refuse failed "$real was not replaced: no whole copy of it could be kept; the disk may be full"
    $as touch -- "$draft"
    $as mv -fT -- "$draft" "$kept" || refuse failed "$real was not replaced: $kept could not be written"
    draft=''
}

forget_old_copies() {
    set +f
    # shellcheck disable=SC2012
    ls -td -- "$real".lifeguard-* 2>/dev/null | tail -n +6 | while IFS= read -r old; do $as rm -f -- "$old"; done
    set -f
}

do_reload() {
    find_file "$1"
    named=$(sed -n "s/^[[:space:]]*pid_file_name[[:space:]]*=\{0,1\}[[:space:]]*'\([^']*\)'.*/\1/p" "$real" | tail -n 1)
    case ${named:=/var/run/pgpool/pgpool.pid} in /*) ;; *) named=${real%/*}/$named ;; esac
    [ -f "$named" ] && [ -r "$named" ] || refuse stopped "no running pgpool is found by $named"
    # pgpool ends the number with a NUL byte.
    pid=$(tr -cd 0-9 <"$named" | head -c 10)
    case $pid in ''|0|1) refuse stopped "$named names no process" ;; esac
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || refuse stopped "no process $pid runs, which $named names"
    [ "$name" = pgpool ] || refuse stopped "$named names process $pid, which is $name, not pgpool"
    kill -HUP "$pid" 2>/dev/null || refuse forbidden "process $pid may not be signalled by $(id -un)"
    printf 'signalled %s\n' "$pid"
}

# How a pgpool is restarted here only this host knows: by the program "restart" beside this script, given the file.
# What it prints goes into a file: nothing that is under way breaks when the connection is lost.
do_restart() {
    find_file "$1"
    case $0 in */*) program=${0%/*}/restart ;; *) refuse unconfigured "only the installed script restarts a pgpool, not one that is sent along" ;; esac
    [ -f "$program" ] && [ -x "$program" ] || refuse unconfigured "no program $program stands on that host, or $(id -un) may not run it"
    folder=$(mktemp -d) || refuse unavailable "no temporary directory can be made on that host"
    timeout -k 5 120 "$program" "$1" </dev/null >"$folder/said" 2>&1
    printf 'code %s\n\n' "$?"
    tail -c 2000 "$folder/said"
}

# The files that may be touched are the arguments before "--"; without a forced command the caller names its own.
is_open=no
allowed=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do allowed="$allowed $1"; shift; done
if [ $# -gt 0 ]; then shift; [ "${LIFEGUARD_SENT:-}" = 1 ] && is_open=yes; else
    # shellcheck disable=SC2086
    set -- ${SSH_ORIGINAL_COMMAND:-}
    [ "${1:-}" = lifeguard-node ] || { echo 'lifeguard-node 1'; refuse denied "this account takes requests of Lifeguard only"; }
    shift
fi
if [ "${1:-}" = sudo ]; then
    shift
    # shellcheck disable=SC2086
    [ "$(id -u)" = 0 ] || exec sudo -n -- "$0" $allowed -- "$@"
fi
echo 'lifeguard-node 1'
verb=${1:-} file=${2:-}
is_allowed=no
for each in $allowed; do [ "$each" = "$file" ] && is_allowed=yes; done
[ $is_allowed = yes ] || refuse denied "$file is not among the files of the forced command:${allowed:- none}"
case $verb:$# in
    read:2) do_read "$file" ;;
    dry-run:2) do_dry_run ;;
    write:5) do_write "$file" "$3" "$4" "$5" ;;
    reload:2) do_reload "$file" ;;
    restart:2) do_restart "$file" ;;
    *) refuse denied "$verb is no request of Lifeguard's" ;;
esac
