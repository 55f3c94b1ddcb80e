#!/bin/sh
# Processes that wait for each other, and such that do not, looked at with --tree and by numbers.
#
#     processes.sh GORDIAN PROGRAM [NAME...]
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
program=$(absolute "$2")
shift 2
enter_scratch
looks=$((${GORDIAN_TEST_SCALE:-100} / 5 + 3))

field()
{
    sed -n "1s/^[^[]*\"$2\":\"\([^\"]*\)\".*/\1/p" "$1"
}

members()
{
    head -n 1 "$1" | grep -o '"waiter":"[^}]*"witness":true' | grep -c .
}

# shellcheck disable=SC2317 # called by wait_for
# It is there when it is found: until then its processes are about to block.
found()
{
    "$gordian" inspect --json --stop-ms 10000 --trace trace --tree "$process" >report 2>stderr
    [ $? -eq 1 ]
}

# May everybody's descriptors be looked at? Processes that have just ended do not count.
sees_all()
{
    for folder in /proc/[0-9]*; do
        ls "$folder/fd" >/dev/null 2>&1 || [ ! -e "$folder/stat" ] || return 1
    done
}

look_at_hang()
{
    wait_for "$name to be found" found || return
    # Whoever may not be looked at may have the other end of a pipe, or the open file with the lock.
    if [ "$live" = proved ] && ! $all_seen && grep -q 'processes of other users may have it open' report; then
        live=likely
    fi
    is "$(field report verdict)" "$live" "$name: word"
    is "$(field report kind)" "$verdict" "$name: verdict"
    is "$(members report)" "$count" "$name: who waits"
    "$gordian" check --quiet trace >/dev/null 2>&1
    is $? 1 "$name: its trace"
    children=$(cat "/proc/$process/task/$process/children")
    # shellcheck disable=SC2086
    "$gordian" inspect --json "$process" $children >again 2>stderr
    is $? 1 "$name: by numbers"
    # Without the others nothing can be said of it.
    if [ -n "$children" ]; then
        alone=$("$gordian" inspect "$process" 2>&1)
        is $? 5 "$name: alone"
        has "$alone" 'inspect' "$name: what would help"
    fi
}

# shellcheck disable=SC2317 # called by wait_for
rests()
{
    "$gordian" inspect "$process" | grep -q 'only its own process has open'
}

look_at_sound()
{
    accused=0
    for look in $(seq "$looks"); do
        "$gordian" inspect --json --tree "$process" >report 2>stderr || accused=$look
    done
    is "$accused" 0 "$name: accused at look"
    if [ "$name" = pipe-own-end ]; then
        wait_for "$name to rest" rests
    fi
}

if sees_all; then all_seen=true; else all_seen=false; fi

# In a short run every third.
every=$((${GORDIAN_TEST_SCALE:-100} >= 10 ? 1 : 3))
"$program" --list | awk "NR % $every == 0" >list
while read -r name live _ verdict count; do
    [ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
    : >said
    "$program" "$name" >said &
    process=$!
    wait_for "$name" grep -q ready said
    if [ "$live" = nothing ]; then look_at_sound; else look_at_hang; fi
    # shellcheck disable=SC2046
    kill -9 $(cat "/proc/$process/task/$process/children") "$process"
    wait "$process" 2>/dev/null
done <list
finish
