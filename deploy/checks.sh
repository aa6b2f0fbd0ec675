#!/usr/bin/env bash
# The checkers, all of them or those named: code layout types imports frontend
set -u
cd "$(dirname "$0")/.." || exit 1
PATH="$PWD/.venv/bin:$PATH"

check() {
    case "$1" in
        code) ruff check --quiet . ;;
        layout) ruff format --quiet --diff . ;;
        # Types are read through Django's own settings, so it needs some; nothing is connected to.
        types) python -m deploy.teststack run --no-servers -- mypy --no-error-summary ;;
        imports) python -m deploy.teststack run --no-servers -- lint-imports --no-cache ;;
        frontend) (cd frontend && npm run --silent check) ;;
        *) echo "no such check: $1" >&2; return 2 ;;
    esac
}

if [ $# -eq 0 ]; then set -- code layout types imports frontend; fi
failed=()
for name in "$@"; do
    echo "== $name"
    check "$name" || failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}" >&2
    exit 1
fi
