#!/bin/sh
# Processes that outlive the program: the command does not wait for them, names them, and does not
# say "no deadlock". The exit status is the program's own.
#
#     survivors.sh GORDIAN
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
enter_scratch
mkfifo end

# A job that lives until something is written to the pipe, and writes its number to a file.
cat >job <<'END_OF_JOB'
echo $$ >number.new
mv number.new number
read -r line <end
END_OF_JOB

# start HOW: runs a program that starts the job and ends with 7 once the job runs.
start()
{
    rm -f number report.json
    "$gordian" run --json report.json -- sh -c "$1 </dev/null >/dev/null 2>&1 &
        until [ -e number ]; do sleep 0.01; done; exit 7" >output 2>&1
    status=$?
    job=$(cat number)
}

# named NAME
named()
{
    check "$1: exit status" test $status -eq 7
    check "$1: still there" kill -0 "$job"
    check "$1: not called free of deadlocks" test "$(grep -c 'no deadlock' output)" -eq 0
    check "$1: named" grep -q "process $job, '.*job'" output
    check "$1: in JSON" grep -q "\"report\":\"incomplete\".*\"pid\":$job,\"command\":\"[^\"]*job\"" report.json
    echo >end
    wait_for "the end of the job" dead "$job"
}

start 'sh job'
named 'in the background'
start 'setsid sh job'
named 'a session of its own'
start 'env -i "PATH=$PATH" setsid sh job'
named 'without variables'

# What has ended by then is not named.
"$gordian" run --json report.json -- sh -c 'sleep 0.01 & wait; exit 7' >output 2>&1
check 'all ended: exit status' test $? -eq 7
check 'all ended: said' grep -q 'no deadlock' output
check 'all ended: JSON' test ! -s report.json
finish
