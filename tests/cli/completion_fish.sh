#!/bin/sh
# Completes some lines as fish does, and compares what it offers.
#
#     completion_fish.sh GORDIAN COMPLETIONS
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
here=$(cd "$(dirname "$0")" && pwd)
COMPLETIONS=$(absolute "$2")
enter_scratch
on_path gordian "$gordian"
HOME=$scratch XDG_CONFIG_HOME=$scratch XDG_DATA_HOME=$scratch XDG_CACHE_HOME=$scratch
export HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME COMPLETIONS
: >first.trace
: >second.trace

# expect "WANTED..." LINE: completes the end of the line; what is offered, without descriptions.
expect()
{
    # shellcheck disable=SC2016 # for fish to expand
    got=$(LINE=$2 fish --no-config -c 'source $COMPLETIONS; complete -C $LINE' 2>&1 | cut -f 1 |
        LC_ALL=C sort | tr '\n' ' ')
    is "$got" "$1 " "$2"
}

has_run=false
has_serve=false
is_built run && has_run=true
is_built serve && has_serve=true
# shellcheck source=tests/cli/completion_lines.sh
. "$here/completion_lines.sh"
expect "--recover=oldest" "gordian detect --recover=o"
$has_serve && expect "--config=second.trace" "gordian serve --config=sec"
finish
