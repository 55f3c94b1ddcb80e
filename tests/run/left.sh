#!/bin/sh
# Calls that are left by cancellation and by jumps: the library holds nothing then, the rest of the
# program goes on as natively, and nothing is reported.
#
#     left.sh GORDIAN LIBRARY PROGRAM
#
# GORDIAN_TEST_SCALE: how many rounds, in percent of thirty.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
library=$(absolute "$2")
program=$(absolute "$3")
enter_scratch
rounds=$(((${GORDIAN_TEST_SCALE:-100} * 30 + 99) / 100))

# quiet COMMAND...: ends with 0 and prints nothing.
# shellcheck disable=SC2317 # called by check
quiet()
{
    timeout $patience "$@" >output 2>&1
    status=$?
    [ $status -eq 0 ] && [ ! -s output ] && return
    echo "exit status $status"
    sed 's/^/    /' output
    return 1
}

for name in relock relock-checked mutex mutex-until read write spin semaphore barrier condition \
    join anywhere jump-anywhere jump-mutex jump-spin jump-semaphore; do
    check "$name" quiet "$gordian" run --quiet -- "$program" $name $rounds
    check "$name without the command" \
        quiet env LD_PRELOAD="$library" GORDIAN_TOOL= "$program" $name $rounds
done
finish
