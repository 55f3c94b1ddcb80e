#!/bin/sh
# gordian incidents: on the file of a service that runs, that has been killed, that has stopped.
#
#   incidents.sh GORDIAN
set -u
gordian=$1
case $gordian in /*) ;; *) gordian=$PWD/$gordian ;; esac

# Looking for leaks at every exit can take seconds each; the reference tests do it.
: "${ASAN_OPTIONS=detect_leaks=0}"
export ASAN_OPTIONS

scratch=$(mktemp -d) || exit 1
service=
# shellcheck disable=SC2317 # called by the trap
clean() {
    [ -z "$service" ] || kill -9 "$service" 2>/dev/null
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
failed=0

# check WHAT CODE TEXT COMMAND...: its exit status, and a line that must be in what it prints.
check() {
    what=$1 code=$2 text=$3
    shift 3
    "$@" >out 2>&1
    got=$?
    if [ $got -ne "$code" ] || ! grep -q -e "$text" out; then
        echo "$what: exit $got, not $code, or no '$text' in:"
        cat out
        failed=1
    fi
}

start() {
    "$gordian" serve --socket "$scratch/socket" --data "$scratch/data" --http none 2>>log &
    service=$!
    for _ in $(seq 600); do
        [ -S socket ] && "$gordian" send --to "unix:$scratch/socket" --quiet </dev/null \
            >/dev/null 2>&1 && return
        sleep 0.05
    done
    echo "the service did not start:"
    cat log
    exit 1
}

# shellcheck disable=SC2317 # called by check
show() {
    "$gordian" incidents --data data --color never "$@"
}

check 'nothing there' 2 'data/gordian.db' show
start
check 'no incidents' 0 'no incidents' show

cat >deadlock <<'END'
resource a
resource b
request ann a
request bob b
request ann b
request bob a
cancel ann
END
"$gordian" send --to "unix:$scratch/socket" --quiet deadlock >sent 2>&1
cat >second <<'END'
resource d
resource e
request dan d
request eve e
request dan e
request eve d
END
"$gordian" send --to "unix:$scratch/socket" --quiet second >>sent 2>&1

for when in running killed stopped; do
    check "$when" 1 'incident 1 .*default' show
    check "$when: all" 1 '2 incidents' show
    check "$when: json" 1 '"requester":"bob","processes":\["bob","ann"\]' show --json
    check "$when: of bob" 1 '^1 incident,' show --process bob
    check "$when: of nobody" 0 'no incidents' show --process nobody
    check "$when: of another system" 0 'no incidents' show --system other
    check "$when: ended" 1 '"id":1,' show --ended --json
    check "$when: one" 1 '"replay":{"graph"' show --id 1 --json
    check "$when: none of that id" 0 'no incidents' show --id 77
    check "$when: lately" 1 'incident 2' show --since 1h
    check "$when: before" 0 'no incidents' show --until 2001-01-01
    check "$when: limited" 1 '^1 incident,' show --limit 1
    check "$when: oldest first" 1 '"id":1,' show --limit 1 --oldest-first --json
    rm -f exported
    check "$when: exported" 1 '2 incidents written' show --export exported
    [ "$(grep -c '"replay":{"graph"' exported)" = 2 ] || {
        echo "$when: the export is not whole"
        failed=1
    }
    case $when in
    running)
        kill -9 "$service"
        wait "$service" 2>/dev/null
        service=
        ;;
    killed)
        start
        kill "$service"
        wait "$service" 2>/dev/null
        service=
        ;;
    esac
done

# Whoever looks at a folder at rest leaves nothing there.
if [ -e data/gordian.db-wal ] || [ -e data/gordian.db-shm ]; then
    echo 'reading has left something:'
    ls data
    failed=1
fi
check 'a bad time' 2 'expected a time' show --since yesterday
check 'an operand' 2 'no operands' show somewhere
check 'cannot be written' 4 'exported' show --export "$scratch/nowhere/exported"
echo nonsense >data/gordian.db
check 'not a database' 2 'gordian.db' show
[ $failed -eq 0 ] && echo "1 passed, 0 failed"
exit $failed
