#!/bin/sh
# Runs an example that needs a service, and compares what it prints.
#
#     service.sh GORDIAN PROGRAM EXPECTED
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
example=$(absolute "$2")
expected=$(absolute "$3")
enter_scratch

serve --http none
"$example" "unix:$scratch/socket" >output
is $? 0 'exit status'
check 'what it prints' diff -u "$expected" output
stop
finish
