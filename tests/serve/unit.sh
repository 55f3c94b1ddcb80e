#!/bin/sh
# The files for systemd, looked at by systemd's own tool, and the alerts of the manual, by
# Prometheus's.
#
#     unit.sh SOURCE-FOLDER CONFIGURED-SERVICE GORDIAN
set -u

source=$1
service=$2
gordian=$3
case $gordian in /*) ;; *) gordian=$PWD/$gordian ;; esac
passed=0
failed=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

check()
{
    if "$@" >"$scratch/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $*" >&2
        cat "$scratch/said" >&2
    fi
}

# Not installed here: the program in place of where it will be, and no manual page.
units()
{
    sed -e "s#^ExecStart=[^ ]*#ExecStart=$gordian#" -e '/^Documentation=/d' "$service" \
        >"$scratch/gordian.service" &&
        grep -q "^ExecStart=$gordian serve --data" "$scratch/gordian.service" &&
        for unit in gordian.socket gordian-http.socket; do
            sed '/^Documentation=/d' "$source/systemd/$unit" >"$scratch/$unit" || return 1
        done
}

# verify: nothing to complain about.
verify()
{
    said=$(cd "$scratch" && systemd-analyze verify --man=no ./gordian.service ./gordian.socket \
        ./gordian-http.socket 2>&1)
    # Where systemd does not run it may say so; what counts is what it says about ours.
    said=$(echo "$said" | grep gordian)
    echo "$said"
    [ -z "$said" ]
}

# The exposure, in tenths of its scale of 10, must not rise above this.
sealed_off()
{
    systemd-analyze security --offline=yes --threshold=15 --no-pager "$scratch/gordian.service"
}

alerts()
{
    awk '/^```/ { inside = 0 } inside { print } /^```yaml/ { getline; if (/^groups:/) { inside = 1; print } }' \
        "$source/docs/serve.md" >"$scratch/alerts.yml"
    grep -q 'alert: Deadlock' "$scratch/alerts.yml" && promtool check rules "$scratch/alerts.yml"
}

check units
if systemd-analyze --version >/dev/null 2>&1; then
    check verify
    if systemd-analyze --help 2>/dev/null | grep -q -- --offline; then
        check sealed_off
    fi
fi
if command -v promtool >/dev/null; then
    check alerts
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
