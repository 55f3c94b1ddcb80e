#!/bin/bash
# Completes some lines as bash would, and compares.
#
#     completion.sh GORDIAN COMPLETIONS
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
completions=$(absolute "$2")
enter_scratch
on_path gordian "$gordian"
: >first.trace
: >second.trace
# shellcheck source=/dev/null
. "$completions"

# expect "WANTED..." WORD...: completes the last word.
expect()
{
    local wanted=$1
    shift
    COMP_WORDS=(gordian "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _gordian 2>/dev/null
    is "${COMPREPLY[*]-}" "$wanted" "gordian $*"
}

expect "detect" de
expect "run inspect watch collectives detect check avoid compose makespan serve incidents send tail convert gen bench papers info help" ""
expect "detect" help de
expect "--recover" detect --r
expect "--crossover --most --json --engine --quiet --verbose --color --help --version" info --
# Only what is accepted there: the common options before a command, none of help, none of run's behind its program.
expect "--json --engine --quiet --verbose --color --help --version" --
expect "" help --
expect "always" --color al
expect "detect" --color never de
expect "--recover" --color never detect --r
is_built run && expect "" run ./program --
is_built run && expect "" run --on-deadlock abort ./program --o
is_built run && expect "first.trace" run ./program --recover f
expect "youngest oldest cheapest priority fewest-held" detect --recover ""
expect "oldest" detect --recover = o
expect "deadlocks matrices all" detect --show ""
expect "oldest" detect -r o
expect "cheapest" detect --recover = c
expect "auto cuda cuda-blocks matrix reduce sparse" detect --engine ""
expect "sparse" detect -e s
expect "always" detect --color al
expect "second.trace" detect s
expect "first.trace" check --json f
expect "second.trace" avoid --queue s
expect "--patience --plan" avoid --p
expect "dense" avoid --engine d
expect "" avoid --engine s
expect "" avoid --plan --workers ""
expect "first.trace" compose --hide f
expect "first.trace" compose --include f
expect "text" compose --order ""
expect "--data --define --deadlocks --dot" compose --d
expect "dense" compose --engine d
expect "none weak strong" compose --fair ""
expect "fuzzy" compose --semiring f
expect "" compose --trace --main ""
expect "fermi" makespan --chip f
expect "first.trace" makespan --csv f
expect "anneal auto" makespan --engine a
expect "hand-over" makespan --own --event h
expect "fall" makespan --path f
expect "fixed-priority" makespan --start f
expect "glpsol" makespan --solver g
expect "first.trace" makespan f
expect "detect avoid" send --open ""
expect "first.trace" send --all f
expect "second.trace" tail --token-file s
is_built serve && expect "first.trace" serve -c f
is_built serve && expect "first.trace" serve --data f
is_built serve && expect "" serve --max-clients f
is_built serve && expect "" serve --on-deadlock ""
is_built run && expect "report abort break" run --on-deadlock ""
is_built run && expect "stop" run --on-unwatchable s
is_built run && expect "first.trace" run --suppress f
expect "philosophers" gen ph
expect "head" gen chain --order h
expect "silent stuck size" gen collectives --fault s
expect "" gen chain --processes ""
expect "run" bench ru
expect "first.trace" bench --svg f
expect "article/fig8" papers article/fig8
expect "makespan/fig7" papers makespan/fig7
expect "first.trace" papers --merge f
expect "--markdown --merge" papers --m
finish
