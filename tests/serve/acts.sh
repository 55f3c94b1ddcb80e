#!/bin/sh
# Waits for acts through the service: sent, drawn, asked for, and the same after a kill and a stop.
#
#     acts.sh GORDIAN TALK
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
talk=$(absolute "$2")
enter_scratch

start()
{
    serve --data data --http none
}

send()
{
    "$gordian" send --to "unix:$scratch/socket" --color never "$@"
}

start
cat >calm <<'END'
await ann 2 of bob cal dan
act bob
await eve any of ann bob
act cal for ann
act ann
END
out=$(send calm 2>&1)
is $? 0 'nothing is wrong with these'
has "$out" 'no deadlock in 5 events' 'the summary'

cat >trace <<'END'
resource lock
request bob lock
await ann 2 of bob cal dan
act dan
await bob any of ann cal
await cal ann
END
out=$(send trace 2>&1)
is $? 1 'a deadlock is found'
has "$out" 'trace:6: deadlock 1: cal awaits ann' 'what closes it'
has "$out" 'waits for ─▶ an act ───── of ─▶ ann' 'it is drawn'

# tell WHEN: what the service knows.
tell()
{
    has "$(send --json /dev/null 2>&1)" '"deadlocked":["bob","cal","ann"]' "$1: who is deadlocked"
    has "$("$gordian" incidents --data data --color never)" 'an act ── of ─▶ ann' "$1: the incident"
    lines=$(printf 'state ann\nstate bob\nstate cal\nquit\n' | "$talk" socket)
    has "$lines" '"waits_for":{},"awaits":[{"awaits":1,"of":[' "$1: one act is missing"
    has "$lines" '"holds":{"lock":1},' "$1: acts are not held"
    has "$lines" '"awaits":[{"awaits":1,"of":["ann"]}],"awaited_by":["' "$1: it is awaited"
    has_not "$lines" '"dan"' "$1: who has acted is awaited no more"
}

tell 'running'
kill_service
start
tell 'killed'
stop
start
tell 'stopped'

printf 'cancel cal\nact cal\n' >end
has "$(send --all end 2>&1)" 'released, served: ' 'an act ends it'
tail=$("$gordian" tail --to "unix:$scratch/socket" --color never --since 1h --count 1 2>&1)
has "$tail" 'waits for ─▶ an act ───── of ─▶ ann' 'tail draws it'

# Who is only named in an await is nobody's: it does not go with whoever named it.
printf 'open named detect\nawait ned others\nquit\n' | "$talk" socket >/dev/null
lines=$(printf 'use named\nstate others\nstate ned\nact others\nquit\n' | "$talk" socket)
has "$lines" '"state":{"process":"others"' 'it is still there'
has_not "$lines" '"state":{"process":"ned"' 'who named it is not'

refused=$(printf 'open bank avoid\nprocess p\nact p\nawait p q\nquit\n' | "$talk" socket)
has "$refused" 'unknown' 'avoidance knows no acts'
stop
finish
