#!/bin/sh
# Runs an example that needs a service, and compares what it prints.
#
#   service.sh GORDIAN PROGRAM EXPECTED
set -u
folder=$(mktemp -d) || exit 1
"$1" serve --socket "$folder/s" --http none --quiet &
service=$!
trap 'kill $service; wait $service; rm -rf "$folder"' EXIT
tries=0
until "$1" send --to "unix:$folder/s" --quiet /dev/null 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "the service does not come up" && exit 1; }
    sleep 0.1
done
"$2" "unix:$folder/s" >"$folder/output" || { echo "exit status $?" && exit 1; }
diff -u "$3" "$folder/output"
