#!/bin/sh
# What the reporter makes of an incident: text for every kind compared with expected/, JSON, DOT,
# SVG and the trace checked, suppressions and the session.
#
#     report.sh GORDIAN WRITER [--update]
set -u

here=$(cd "$(dirname "$0")" && pwd)
gordian=$(realpath "$1")
writer=$(realpath "$2")
update=${3:-}
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
enter_scratch

# Numbers that differ from run to run, and the frame in which the writer stops.
steady()
{
    sed -E -e '/stop_here/d' -e '/ \| .*get(context|tid)/d' \
        -e 's/(thread|process|-) ?[0-9]{2,}/\1 N/g' -e 's/0x[0-9a-f]+/0xN/g' \
        -e 's|(\.\./)*[^ ]*/writer\.c|writer.c|g'
}

report()
{
    "$gordian" run --report-incident 3 3<"$1"
}

for kind in 1-deadlock 2-owner-gone 3-potential 4-stall 5-status 6-summary; do
    "$writer" "${kind%%-*}" >"$kind" || exit 1
    report "$kind" 2>&1 >/dev/null | steady >text
    if [ "$update" = --update ]; then
        cp text "$here/expected/$kind"
    fi
    check "text of $kind" diff -u "$here/expected/$kind" text
done

# The other products.
GORDIAN_JSON=$scratch/report.json GORDIAN_DOT=$scratch/graph.dot GORDIAN_SVG=$scratch/graph.svg \
    GORDIAN_TRACE=$scratch/replay.trace report 1-deadlock 2>/dev/null
check "JSON is one line" test "$(wc -l <report.json)" -eq 1
check "JSON has the cycle" grep -q '"cycle":\["Tim Teller","accounts\[1\].lock","auditor","mutex-1"\]' report.json
check "JSON has both sites" grep -q '"resource":"accounts\[1\].lock".*"function":"transfer"' report.json
if command -v python3 >/dev/null; then
    check "JSON is JSON" python3 "$here/../findings.py" --check report.json
    check "SVG is XML" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' graph.svg
fi
if command -v dot >/dev/null; then
    check "DOT is DOT" dot -Tsvg -o /dev/null graph.dot
fi
check "DOT has four arrows" test "$(grep -c -- '->' graph.dot)" -eq 4
"$gordian" detect --json replay.trace >replay.json
check "the replay finds it" test $? -eq 1
check "the same cycle" grep -q '"result":"deadlock".*"cycle":\["Tim-Teller","accounts\[1\].lock","auditor","mutex-1"\]' replay.json
"$gordian" check replay.trace >/dev/null
check "as a snapshot too" test $? -eq 1
rm -f replay.trace
for kind in 2-owner-gone 3-potential; do
    GORDIAN_TRACE=$scratch/replay.trace report $kind 2>/dev/null
    "$gordian" detect replay.trace >/dev/null
    check "the replay of $kind" test $? -eq 1
    rm -f replay.trace
done
# Without a session files are numbered by what is there.
GORDIAN_SVG=$scratch/graph.svg report 3-potential 2>/dev/null
check "a second picture has a number" test -s graph-2.svg

# Suppressions: by function, by place, by both sides; and nothing else.
suppressed()
{
    printf '%s\n' "$2" >list
    GORDIAN_SUPPRESS=$scratch/list report "$1" >out 2>&1 && ! test -s out
}
not_suppressed()
{
    printf '%s\n' "$2" >list
    GORDIAN_SUPPRESS=$scratch/list report "$1" >out 2>&1 && grep -q '^gordian: .*deadlock' out
}
check "by function" suppressed 3-potential 'potential transfer'
check "by wildcard" suppressed 3-potential 'any  trans* # both'
check "by place" suppressed 3-potential "potential writer.c:$(grep -n 'takes the first' "$here/writer.c" | cut -d: -f1)"
check "by any line of a file" suppressed 3-potential 'any writer.c:*'
check "every pattern its own site" suppressed 3-potential 'any transfer transfer transfer transfer'
check "one pattern too many" not_suppressed 3-potential 'any transfer transfer transfer transfer transfer'
check "another function" not_suppressed 3-potential 'any transfers'
check "another line" not_suppressed 3-potential 'any writer.c:1'
check "any is not for actual ones" not_suppressed 1-deadlock 'any transfer'
check "potential is not for actual ones" not_suppressed 1-deadlock 'potential *'
check "deadlock is" suppressed 1-deadlock 'deadlock transfer'

# A hook gets the report.
GORDIAN_EXEC="cat >'$scratch/hook.json'; echo \$GORDIAN_REPORT_KIND >'$scratch/hook.kind'" report 1-deadlock 2>/dev/null
check "the hook's input" grep -q '"kind":"deadlock"' hook.json
check "the hook's kind" test "$(cat hook.kind)" = deadlock

# What is no incident.
echo nonsense >bad
report bad >out 2>&1
check "nonsense is refused" test $? -eq 2
check "and said" grep -q 'not an incident' out
head -c 2000 1-deadlock >short
report short >out 2>&1
check "one cut short is refused" test $? -eq 2

# A session counts, and folds what comes again.
mkdir session
: >session/log
: >session/working
export GORDIAN_SESSION=$scratch/session
report 3-potential >out 2>&1
check "the first has number 1" grep -q 'potential deadlock 1:' out
report 1-deadlock >out 2>&1
check "kinds are counted apart" grep -q 'deadlock 1:' out
report 3-potential >out 2>&1
check "what comes again is counted" grep -q '^again ' session/log
check "and not told" test "$(wc -l <out)" -eq 0

finish
