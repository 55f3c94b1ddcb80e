# Completion of gordian for bash: commands, options, and what options and operands can be.
# Options come from --help, kinds, benches and engines from the program itself, so that nothing
# here can fall behind.

_gordian_commands() {
    gordian help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'
    echo help
}

# Options of a command; without one, those that may stand before any command.
_gordian_options() {
    gordian help "${1:-info}" 2>/dev/null |
        if [[ -n $1 ]]; then cat; else sed -n '/^Common options/,$p'; fi |
        sed -n 's/^  *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

# The long name of an option, and what --help calls its argument: "--output FILE"; nothing if it
# takes none.
_gordian_with_argument() {
    gordian help "${1:-info}" 2>/dev/null |
        if [[ -n $1 ]]; then cat; else sed -n '/^Common options/,$p'; fi |
        sed -n -E "s/^ +(-., )?($2 [A-Z][A-Z:]*)( .*)?\$/\\2/p; s/^ +$2, (--[a-z-]+ [A-Z][A-Z:]*)( .*)?\$/\\1/p" |
        head -n 1
}

# Those of the command's family; of all where it has none of its own.
_gordian_engines() {
    local engines
    engines=$(gordian info --color never 2>/dev/null | sed -n '/^engines/,$s/^  \([a-z]*\)  *\([a-z-]*\) .*/\1 \2/p')
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

# What the argument of an option can be: OPTION CURRENT COMMAND NAME.
_gordian_argument() {
    case $1 in
    --engine) _gordian_words "$(_gordian_engines "$3" | sort -u)" "$2" ;;
    --color) _gordian_words "auto always never" "$2" ;;
    --show) _gordian_words "deadlocks matrices all" "$2" ;;
    --recover) _gordian_words "youngest oldest cheapest priority fewest-held" "$2" ;;
    --order) _gordian_words "$([[ $3 == compose ]] && echo text || echo tail head random)" "$2" ;;
    --chip) _gordian_words "$(gordian makespan --chips 2>/dev/null | sed -n 's/^\([a-z][a-z0-9]*\) .*/\1/p')" "$2" ;;
    --event) _gordian_words "grant block hand-over cancel rebuild" "$2" ;;
    --start) _gordian_words "all round-robin fixed-priority most-pending random" "$2" ;;
    --solver) _gordian_words "auto cbc highs glpsol" "$2" ;;
    --path) _gordian_words "longest fall" "$2" ;;
    --fair) _gordian_words "none weak strong" "$2" ;;
    --semiring) _gordian_words "weighted fuzzy probability" "$2" ;;
    --fault) _gordian_words "none absent silent stuck operation size order ring" "$2" ;;
    --form) _gordian_words "other text trace snapshot" "$2" ;;
    --durability) _gordian_words "none batch full" "$2" ;;
    --open) _gordian_words "detect avoid" "$2" ;;
    --on-deadlock) _gordian_words "$([[ $3 == run ]] && echo report abort break)" "$2" ;;
    --act) _gordian_words "none cancel terminate" "$2" ;;
    --victim) _gordian_words "youngest least-work" "$2" ;;
    --on-likely) _gordian_words "report abort" "$2" ;;
    --on-unwatchable) _gordian_words "run stop" "$2" ;;
    *)
        case $4 in
        FILE | PATH | DIR | FOLDER | FOLDERS) _gordian_files "$2" ;;
        *) COMPREPLY=() ;;
        esac
        ;;
    esac
}

# Numbers of processes that begin with CURRENT.
_gordian_processes() {
    local folder
    for folder in /proc/"$1"[0-9]*/ /proc/"$1"/; do
        [[ $folder =~ ^/proc/([0-9]+)/$ && -d $folder ]] && echo "${BASH_REMATCH[1]}"
    done | sort -u
}

# What the operands of a command can be.
_gordian_operand() {
    case $1 in
    '' | help) _gordian_words "$(_gordian_commands)" "$2" ;;
    run)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -c -f -- "$2" | sort -u)
        ;;
    inspect)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(_gordian_processes "$2"; compgen -f -- "$2")
        ;;
    detect | check | collectives | avoid | compose | makespan | send | convert) _gordian_files "$2" ;;
    gen) _gordian_words "$(gordian gen --list 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p')" "$2" ;;
    bench) _gordian_words "$(gordian bench --list 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p')" "$2" ;;
    papers) _gordian_words "$(gordian papers 2>/dev/null | sed -n 's/^  \([a-z]*\/[^ ]*\) .*/\1/p; s/^\([a-z]*\): .*/\1/p')" "$2" ;;
    *) COMPREPLY=() ;;
    esac
}

# Is WORD the argument of the option before it? _gordian_takes COMMAND WORD-NUMBER.
_gordian_takes() {
    local option=${COMP_WORDS[$2 - 1]}
    [[ $option == '=' ]] && return 0
    [[ $option == -* && -n $(_gordian_with_argument "$1" "$option") ]]
}

# The number of the first word from FROM on that is neither an option nor the argument of one;
# COMP_CWORD if there is none before the word that is completed: _gordian_first COMMAND FROM.
_gordian_first() {
    local i
    for ((i = $2; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i]} == '=' ]] || _gordian_takes "$1" "$i" || break
    done
    echo "$i"
}

_gordian() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' option='' first
    COMPREPLY=()
    first=$(_gordian_first '' 1)
    ((first < COMP_CWORD)) && command=${COMP_WORDS[first]}
    # After the program that `run` starts come the program's own arguments, not options of `run`.
    if [[ $command == run && $(_gordian_first run $((first + 1))) -lt COMP_CWORD ]]; then
        _gordian_files "$current"
        return
    fi
    # bash splits --name=value into three words.
    if [[ $current == '=' ]]; then
        current=''
    elif [[ $previous == '=' ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    [[ $previous == -* && $command != help ]] && option=$(_gordian_with_argument "$command" "$previous")
    if [[ -n $option ]]; then
        _gordian_argument "${option% *}" "$current" "$command" "${option#* }"
    elif [[ $current == -* ]]; then
        [[ $command == help ]] || _gordian_words "$(_gordian_options "$command")" "$current"
    else
        _gordian_operand "$command" "$current"
    fi
}

complete -F _gordian gordian
