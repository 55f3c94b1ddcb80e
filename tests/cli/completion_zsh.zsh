#!/usr/bin/env zsh
# Completes some lines as zsh does, in a terminal of its own, and compares what it offers.
#
#   completion_zsh.zsh GORDIAN COMPLETIONS
emulate -L zsh
zmodload zsh/zpty || exit 77
gordian=${1:A}
completions=${2:A:h} here=${0:A:h}

# Looking for leaks at every exit can take seconds each; the reference tests do it.
export ASAN_OPTIONS=${ASAN_OPTIONS-detect_leaks=0}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf $scratch' EXIT
mkdir $scratch/bin
ln -s $gordian $scratch/bin/gordian
cd $scratch || exit 1
: >first.trace
: >second.trace

# An interactive shell that prints what could be completed, one a line, instead of a menu.
zpty shell env -i PATH=${(q)scratch}/bin:${(q)PATH} HOME=${(q)scratch} TERM=dumb ASAN_OPTIONS=$ASAN_OPTIONS zsh -f -i
tell() { zpty -w shell "$1" }
tell "PS1= PS2= fpath=($completions \$fpath); autoload -Uz compinit; compinit -u -D"
tell 'null-line() { BUFFER= }; zle -N null-line; bindkey "^U" null-line'
tell 'compadd() {
    local -a given display
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
    builtin compadd -O given "$@"
    builtin compadd "$@"
    local status_=$?
    (( $#given )) && print -rl -- "" "OFFER "$^given
    return status_
}'
tell 'report() { zle complete-word; print; print "DO""NE" }; zle -N report; bindkey "^I" report'
tell 'print READY""NOW'
zpty -r -m shell line '*READYNOW*' || exit 1

failed=0
# expect "WANTED..." LINE: completes the end of the line.
expect() {
    local output
    local -aU offered
    zpty -n -w shell $'\C-u'"$2"$'\t'
    zpty -r -m shell output '*DONE*' || { echo "zsh has ended"; exit 1; }
    offered=(${(o)${(M)${(f)${output//$'\r'/}}:#OFFER *}#OFFER })
    if [[ "$offered" != "$1" ]]; then
        echo "$2: expected '$1', got '$offered'"
        failed=1
    fi
}

# Parts that this program may have been built without.
has_run=true
has_serve=true
$gordian help run | grep -q 'built without' && has_run=false
$gordian help serve | grep -q 'built without' && has_serve=false

. $here/completion_lines.sh
expect "oldest" "gordian detect --recover=o"
zpty -d shell
exit $failed
