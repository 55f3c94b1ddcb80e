#!/bin/sh
# gordian incidents: on the file of a service that runs, that has been killed, that has stopped.
#
#     incidents.sh GORDIAN
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
enter_scratch

# expect WHAT CODE TEXT COMMAND...: its exit status, and a line that must be in what it prints.
expect()
{
    what=$1 code=$2 text=$3
    shift 3
    "$@" >out 2>&1
    got=$?
    if [ $got -eq "$code" ] && grep -q -e "$text" out; then
        good
    else
        bad "$what: exit $got, not $code, or no '$text' in: $(cat out)"
    fi
}

start()
{
    serve --data data --http none
}

show()
{
    "$gordian" incidents --data data --color never "$@"
}

expect 'nothing there' 2 'data/gordian.db' show
start
expect 'no incidents' 0 'no incidents' show

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
    expect "$when" 1 'incident 1 .*default' show
    expect "$when: all" 1 '2 incidents' show
    expect "$when: json" 1 '"requester":"bob","processes":\["bob","ann"\]' show --json
    expect "$when: of bob" 1 '^1 incident,' show --process bob
    expect "$when: of nobody" 0 'no incidents' show --process nobody
    expect "$when: of another system" 0 'no incidents' show --system other
    expect "$when: ended" 1 '"id":1,' show --ended --json
    expect "$when: one" 1 '"replay":{"graph"' show --id 1 --json
    expect "$when: none of that id" 0 'no incidents' show --id 77
    expect "$when: lately" 1 'incident 2' show --since 1h
    expect "$when: before" 0 'no incidents' show --until 2001-01-01
    expect "$when: at a time before" 0 'no incidents' show --at 2001-01-01
    expect "$when: at this time" 1 '^1 incident, 1 of them stand' show --at 0s
    expect "$when: limited" 1 '^1 incident,' show --limit 1
    expect "$when: oldest first" 1 '"id":1,' show --limit 1 --oldest-first --json
    rm -f exported
    expect "$when: exported" 1 '2 incidents written' show --export exported
    is "$(grep -c '"replay":{"graph"' exported)" 2 "$when: what is exported"
    case $when in
    running) kill_service ;;
    killed)
        start
        stop
        ;;
    esac
done

# Everything as it was at a moment: now those of the second trace are deadlocked, whom nobody ended.
expect 'the state' 0 '^wait dan e=1' show --at 0s --state
show --at 0s --state >then
expect 'the state is a trace, and its deadlock is found' 1 'eve' "$gordian" detect then
expect 'the state as JSON' 0 '"kind":"detect","at":.*"name":"eve","waiting":true,"deadlocked":true' show --at 0s --state --json
expect 'the state before everything' 0 '^# system default' show --at 2001-01-01 --state
expect 'no such system' 2 "no system 'other'" show --at 0s --state --system other
expect 'which moment' 2 '--state needs --at' show --state
expect 'no such folder' 2 'nowhere' "$gordian" incidents --data nowhere --at 0s --state
expect 'of a label that nobody had' 0 'no incidents' show --label team:none

# Whoever looks at a folder at rest leaves nothing there.
check 'reading leaves no log' test ! -e data/gordian.db-wal
check 'reading leaves no index' test ! -e data/gordian.db-shm
expect 'a bad time' 2 'expected a time' show --since yesterday
expect 'an operand' 2 'unexpected operand' show somewhere
expect 'cannot be written' 4 'exported' show --export "$scratch/nowhere/exported"
# Is it whole? Looking changes nothing, and whatever is missing or changed is found.
verify()
{
    "$gordian" serve --verify "$1" 2>&1
}

before=$(cd data && cksum ./*)
expect 'it is whole' 0 'data is intact: .* 2 incidents' verify data
is "$(cd data && cksum ./*)" "$before" 'and as it was'
start
expect 'somebody works there' 3 'works here' verify data
stop
for newest in data/journal-*; do :; done # what is before the snapshot is not needed
for file in "$newest" data/marker data/gordian.db; do
    rm -rf copy
    cp -r data copy
    rm "copy/$(basename "$file")"
    case $file in
    data/marker) expect 'a backup has no marker' 0 'is intact' verify copy ;;
    *) expect "$file is missing" 2 'copy' verify copy ;;
    esac
done
rm -rf copy
cp -r data copy
for file in copy/snapshot-*; do
    printf 'x' | dd of="$file" bs=1 seek=60 conv=notrunc 2>/dev/null
done
expect 'a byte is another' 2 'copy' verify copy
expect 'no folder' 2 'nowhere' verify nowhere
echo nonsense >data/gordian.db
expect 'not a database' 2 'gordian.db' show
finish
