#!/bin/sh
# Completes some lines as fish does, and compares what it offers.
#
#   completion_fish.sh GORDIAN SOURCE-ROOT
set -u
gordian=$1
root=$(cd "$2" && pwd)
case $gordian in /*) ;; *) gordian=$PWD/$gordian ;; esac

# Looking for leaks at every exit can take seconds each; the reference tests do it.
: "${ASAN_OPTIONS=detect_leaks=0}"
export ASAN_OPTIONS

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$gordian" "$scratch/bin/gordian"
PATH=$scratch/bin:$PATH
HOME=$scratch XDG_CONFIG_HOME=$scratch XDG_DATA_HOME=$scratch XDG_CACHE_HOME=$scratch
COMPLETIONS=$root/completions/gordian.fish
export PATH HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME COMPLETIONS
cd "$scratch" || exit 1
: >first.trace
: >second.trace

failed=0
# expect "WANTED..." LINE: completes the end of the line; what is offered, without descriptions.
expect() {
    # shellcheck disable=SC2016 # for fish to expand
    got=$(LINE=$2 fish --no-config -c 'source $COMPLETIONS; complete -C $LINE' 2>&1 | cut -f 1 |
        LC_ALL=C sort | tr '\n' ' ')
    if [ "$got" != "$1 " ]; then
        echo "$2: expected '$1', got '$got'"
        failed=1
    fi
}

# Parts that this program may have been built without.
has_run=true
has_serve=true
gordian help run | grep -q 'built without' && has_run=false
gordian help serve | grep -q 'built without' && has_serve=false

expect "detect" "gordian de"
expect "avoid bench check compose detect gen help incidents info makespan run send serve tail" "gordian "
expect "--recover" "gordian detect --r"
expect "cheapest fewest-held oldest priority youngest" "gordian detect --recover "
expect "--recover=oldest" "gordian detect --recover=o"
expect "oldest" "gordian detect -r o"
expect "auto cuda matrix reduce sparse" "gordian detect --engine "
expect "--patience --plan" "gordian avoid --p"
expect "dense" "gordian avoid --engine d"
expect "first.trace" "gordian avoid fir"
$has_serve && expect "second.trace" "gordian serve -c sec"
$has_serve && expect "--config=second.trace" "gordian serve --config=sec"
expect "philosophers" "gordian gen ph"
expect "run" "gordian bench r"
expect "fermi" "gordian makespan --chip f"
expect "avoid" "gordian help av"
expect "check" "gordian --quiet ch"
$has_run && expect "abort break report" "gordian run --on-deadlock "
exit $failed
