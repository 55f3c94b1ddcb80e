#!/bin/sh
# Replays a reference trace and compares every event with the oracle's answer.
#
#   reference.sh GORDIAN TRACE-WITHOUT-SUFFIX ENGINE [COMMAND]
set -u
gordian=$1 trace=$2 engine=$3 command=${4:-detect}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

"$gordian" "$command" --json --quiet --engine "$engine" "$trace.trace" >"$scratch/actual"
code=$?
if [ "$code" -ne 0 ] && [ "$code" -ne 1 ]; then
    echo "exit status $code"
    exit 1
fi

# Reference lines have blanks after ':' and ','; names have none.
LC_ALL=C awk -v command="$command" '
    function field(line, key,    start, rest) {
        start = index(line, "\"" key "\":")
        if (!start)
            return ""
        rest = substr(line, start + length(key) + 3)
        if (substr(rest, 1, 1) == "[")
            return substr(rest, 1, index(rest, "]"))
        match(rest, /^[^,}]*/)
        return substr(rest, 1, RLENGTH)
    }
    function differs(key, wanted, given) {
        if (wanted == given)
            return
        print "event " events ": " key ": expected " wanted ", got " given
        wrong++
    }
    FNR == NR { gsub(/ /, ""); expected[FNR] = $0; count = FNR; next }
    /^{"summary"/ { summaries++; summary = $0; next }
    {
        events++
        want = expected[events]
        split("seq op process result granted_to", keys, " ")
        for (k = 1; k <= 5; k++)
            differs(keys[k], field(want, keys[k]), field($0, keys[k]))
        stuck = field($0, "result") ~ /deadlock|doomed/
        if (stuck || field($0, "deadlocked") != "") {
            differs("deadlocked", field(want, "deadlocked"), field($0, "deadlocked"))
            compared++
        }
    }
    END {
        if (events != count || summaries != 1 || (command == "detect" && !compared)) {
            print events " of " count " events, " summaries " summaries, " compared " deadlocked sets"
            wrong++
        }
        last = field(expected[count], "deadlocked")
        differs("deadlocked at the end", last, field(summary, "deadlocked"))
        exit wrong > 0
    }' "$trace.expected.jsonl" "$scratch/actual"
