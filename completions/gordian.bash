# Completion of gordian for bash: commands, options, and what options and operands can be.
# Options come from --help, kinds, benches and engines from the program itself, so that nothing
# here can fall behind.

_gordian_commands() {
    gordian help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'
    echo help
}

_gordian_options() {
    gordian help "$1" 2>/dev/null | sed -n 's/^  *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

# Does this option of the command take an argument?
_gordian_takes_argument() {
    gordian help "$1" 2>/dev/null | grep -Eq -- "^ +(-., )?$2 [A-Z]+( |$)|^ +$2, --[a-z-]+ [A-Z]+( |$)"
}

# Those of the command's family; of all where it has none of its own.
_gordian_engines() {
    local engines
    engines=$(gordian info --color never 2>/dev/null | sed -n '/^engines/,$s/^  \([a-z]*\)  *\([a-z]*\) .*/\1 \2/p')
    echo auto
    if [[ -n $1 ]] && grep -q "^$1 " <<<"$engines"; then
        sed -n "s/^$1 //p" <<<"$engines"
    else
        sed 's/.* //' <<<"$engines"
    fi
}

_gordian_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_gordian_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# What the argument of an option can be.
_gordian_argument() {
    case $1 in
    --engine | -e) _gordian_words "$(_gordian_engines "$3" | sort -u)" "$2" ;;
    --color) _gordian_words "auto always never" "$2" ;;
    --recover) _gordian_words "youngest oldest cheapest priority fewest-held" "$2" ;;
    --order) _gordian_words "$([[ $3 == compose ]] && echo text || echo tail head random)" "$2" ;;
    --chip | -c) _gordian_words "$(gordian makespan --chips 2>/dev/null | sed -n 's/^\([a-z][a-z0-9]*\) .*/\1/p')" "$2" ;;
    --event) _gordian_words "grant block hand-over cancel rebuild" "$2" ;;
    --path) _gordian_words "longest fall" "$2" ;;
    --durability) _gordian_words "none batch full" "$2" ;;
    --open) _gordian_words "detect avoid" "$2" ;;
    --on-deadlock) _gordian_words "report abort break" "$2" ;;
    --on-unwatchable) _gordian_words "run stop" "$2" ;;
    --svg | --csv | --table | --json | -j | --dot | --trace | --output | -o | --suppress | --include | -I | --token-file | --tls-cert | --tls-key | --tls-clients | --config | --data | -d | --export | --socket) _gordian_files "$2" ;;
    *) COMPREPLY=() ;;
    esac
}

# What the operands of a command can be.
_gordian_operand() {
    case $1 in
    '' | help) _gordian_words "$(_gordian_commands)" "$2" ;;
    run)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -c -f -- "$2" | sort -u)
        ;;
    detect | check | avoid | compose | makespan | send) _gordian_files "$2" ;;
    gen) _gordian_words "$(gordian gen --list 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p')" "$2" ;;
    bench) _gordian_words "$(gordian bench --list 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p')" "$2" ;;
    *) COMPREPLY=() ;;
    esac
}

_gordian() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} != -* && ${COMP_WORDS[i]} != '=' ]]; then
            command=${COMP_WORDS[i]}
            break
        fi
    done
    # bash splits --name=value into three words.
    if [[ $current == '=' ]]; then
        current=''
    elif [[ $previous == '=' ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $previous == -* ]] && _gordian_takes_argument "${command:-detect}" "$previous"; then
        [[ $command == detect && $previous == -r ]] && previous=--recover
        _gordian_argument "$previous" "$current" "$command"
    elif [[ $current == -* ]]; then
        _gordian_words "$(_gordian_options "${command:-info}")" "$current"
    else
        _gordian_operand "$command" "$current"
    fi
}

complete -F _gordian gordian
