#!/bin/sh
# Runs an example built in this tree and compares what it prints.
#
#   run.sh PROGRAM EXPECTED
set -u
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
"$1" >"$output" || { echo "exit status $?" && exit 1; }
diff -u "$2" "$output"
