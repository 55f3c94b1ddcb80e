#!/bin/sh
# The files for systemd, looked at by systemd's own tool, and the alerts of the manual, by
# Prometheus's.
#
#     unit.sh SOURCE-FOLDER CONFIGURED-SERVICE GORDIAN
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
source=$1
service=$2
gordian=$(absolute "$3")
enter_scratch

# Not installed here: the program in place of where it will be, and no manual page.
units()
{
    sed -e "s#^ExecStart=[^ ]*#ExecStart=$gordian#" -e '/^Documentation=/d' "$service" \
        >gordian.service &&
        grep -q "^ExecStart=$gordian serve --data" gordian.service &&
        for unit in gordian.socket gordian-http.socket; do
            sed '/^Documentation=/d' "$source/systemd/$unit" >"$unit" || return 1
        done
}

# verify: nothing to complain about.
verify()
{
    said=$(systemd-analyze verify --man=no ./gordian.service ./gordian.socket \
        ./gordian-http.socket 2>&1)
    # Where systemd does not run it may say so; what counts is what it says about ours.
    said=$(echo "$said" | grep gordian)
    echo "$said"
    [ -z "$said" ]
}

# The exposure, in tenths of its scale of 10, must not rise above this.
sealed_off()
{
    systemd-analyze security --offline=yes --threshold=15 --no-pager gordian.service
}

alerts()
{
    grep -q 'alert: .*Deadlock' "$source/docs/guide/alerts.yml" && promtool check rules "$source/docs/guide/alerts.yml"
}

check 'the units' units
if systemd-analyze --version >/dev/null 2>&1; then
    check 'systemd-analyze verify' verify
    if systemd-analyze --help 2>/dev/null | grep -q -- --offline; then
        check 'systemd-analyze security' sealed_off
    fi
fi
if command -v promtool >/dev/null; then
    check 'the alerts' alerts
fi
finish
