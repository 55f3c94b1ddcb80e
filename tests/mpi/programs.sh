#!/bin/sh
# MPI programs under `gordian run mpirun`: those that hang are named, with every rank that is part of
# it, and end with 86; those that do not are left alone, however long somebody keeps them waiting.
#
#     programs.sh GORDIAN PROGRAMS MPIRUN
#
# Every fifth of each kind; with GORDIAN_TEST_SCALE=100 all of them.
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
# shellcheck source=tests/mpi.sh
. "$(dirname "$0")/../mpi.sh"
gordian=$(absolute "$1")
programs=$(absolute "$2")
start=$3
enter_scratch
every=$((${GORDIAN_TEST_SCALE:-100} >= 100 ? 1 : 5))

# watched NAME RANKS: its report in `report`, its exit status in $status.
watched()
{
    timeout $patience "$gordian" run --on-likely abort -o report "$start" -n "$2" "$programs" "$1" >out 2>err
    status=$?
}

# The same in a folder of its own, beside others.
watched_there()
{
    mkdir -p "there/$1"
    cd "there/$1" || exit 1
    mpirun_apart "$PWD"
    watched "$@"
    echo $status >status
}

is_named()
{
    [ "$status" -eq 86 ] && grep -q 'deadlock 1, proved' report && grep -q 'rank 1' report
}

is_likely()
{
    [ "$status" -eq 86 ] && grep -q 'deadlock 1, likely' report && grep -q 'polled with MPI_' report
}

is_left_alone()
{
    [ "$status" -eq 0 ] && ! grep -q deadlock report
}

lacks()
{
    ! grep -q "$2" "$1"
}

# Ranks that wait for a message look for it all the time, as long as they are let: eight programs at once take little
# more of the processors than one.
for kind in hung polling sound; do
    "$programs" --list "$kind" | awk "NR % $every == 1 % $every" >"list-$kind"
done
count=0
cat list-hung list-polling list-sound >list
while read -r name ranks; do
    watched_there "$name" "$ranks" </dev/null &
    count=$((count + 1))
    [ $((count % 8)) -ne 0 ] || wait
done <list
wait

each()
{
    while read -r name ranks; do
        cd "there/$name" || exit 1
        status=$(cat status)
        check "$2: $name, $ranks ranks" "$3"
        [ "$failed" -eq 0 ] || cat report out err
        cd ../.. || exit 1
    done <"list-$1"
}
each hung 'hangs, and is named' is_named
each polling 'only tests, and is likely' is_likely
each sound 'is sound, and left alone' is_left_alone

# MPI's names are for ranks alone.
# shellcheck disable=SC2016 # is for the shell that is run
"$gordian" run --quiet sh -c 'echo "$LD_PRELOAD"' >alone
# shellcheck disable=SC2016
"$gordian" run --quiet "$start" -n 1 sh -c 'echo "$LD_PRELOAD"' >as_rank
check 'what is no rank does not see names of MPI' lacks alone libgordian-mpi
check 'a rank does' grep -q libgordian-mpi as_rank

# Exactly who waits for whom, and where.
check 'the report has both ranks' grep -q 'rank 0 .*waits for.*message from rank 1, tag 1' there/recv_recv/report
# Both look for their message all the time: the stack of each is as it was at one moment.
check 'and the lines of the calls of both' [ "$(grep -c 'receive_from' there/recv_recv/report)" -eq 2 ]

# Sends that wait for their receives, if nothing is buffered.
watched send_send_small 2
check 'small sends are buffered' [ "$status" -eq 0 ]
check 'and that is told' grep -q 'deadlocks if unbuffered.*rank 0 in MPI_Send to rank 1' err
watched ping_pong 2
check 'but not of a program that needs no buffers' lacks err 'deadlocks if unbuffered'
finish
