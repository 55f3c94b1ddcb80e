#!/bin/sh
# Runs the example of names for locks under `gordian run`.
#
#     watched.sh GORDIAN PROGRAM
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
example=$(absolute "$2")
enter_scratch

"$gordian" run "$example" >output 2>report
has "$(cat output)" 'savings 70, checking 130' 'what it prints'
has "$(cat report)" 'took savings while holding checking' 'one order'
has "$(cat report)" 'took checking while holding savings' 'the other'
finish
