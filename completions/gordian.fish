# Completion of gordian for fish: commands, options, and what options and operands can be.
# Options come from --help, kinds, benches and engines from the program itself, so that nothing
# here can fall behind.

function __gordian_commands
    gordian help 2>/dev/null | string replace -rf '^  ([a-z][a-z-]*)  +(.*)' '$1\t$2'
    printf 'help\tprint a short help\n'
end

function __gordian_options
    gordian help $argv[1] 2>/dev/null |
        string replace -rf '^ +(?:-., )?(--[a-z-]+)(?: [A-Z][A-Z:]*)?  +(.*)' '$1\t$2'
end

# The long name of an option, and what --help calls its argument; nothing if it takes none.
function __gordian_with_argument
    set -l option (string escape --style=regex -- $argv[2])
    gordian help $argv[1] 2>/dev/null |
        string replace -rf "^ +(?:-., )?($option) ([A-Z][A-Z:]*)(?: .*)?\$|^ +$option, (--[a-z-]+) ([A-Z][A-Z:]*)(?: .*)?\$" '$1$3\n$2$4'
end

# Those of the command's family; of all where it has none of its own.
function __gordian_engines
    set -l engines (gordian info --color never 2>/dev/null |
        string replace -rf '^  ([a-z]+) +([a-z-]+)  .*' '$1 $2')
    set -l own (string replace -rf "^$argv[1] " '' $engines)
    set -q own[1]; or set own (string replace -r '^.* ' '' $engines)
    printf '%s\n' auto $own | sort -u
end

# The first words of the lines that a command lists, with what follows.
function __gordian_listed
    gordian $argv 2>/dev/null | string replace -rf '^([a-z][a-z0-9-]*) +(.*)' '$1\t$2'
end

# What the argument of an option can be: OPTION NAME COMMAND.
function __gordian_argument
    switch $argv[1]
        case --engine
            __gordian_engines $argv[3]
        case --color
            printf '%s\n' auto always never
        case --show
            printf '%s\n' deadlocks matrices all
        case --recover
            printf '%s\n' youngest oldest cheapest priority fewest-held
        case --order
            test "$argv[3]" = compose; and echo text; or printf '%s\n' tail head random
        case --chip
            __gordian_listed makespan --chips
        case --event
            printf '%s\n' grant block hand-over cancel rebuild
        case --start
            printf '%s\n' all round-robin fixed-priority most-pending random
        case --solver
            printf '%s\n' auto cbc highs glpsol
        case --path
            printf '%s\n' longest fall
        case --fair
            printf '%s\n' none weak strong
        case --semiring
            printf '%s\n' weighted fuzzy probability
        case --fault
            printf '%s\n' none absent silent stuck operation size order ring
        case --form
            printf '%s\n' other text trace snapshot
        case --durability
            printf '%s\n' none batch full
        case --open
            printf '%s\n' detect avoid
        case --on-deadlock
            test "$argv[3]" = run; and printf '%s\n' report abort break
        case --act
            printf '%s\n' none cancel terminate
        case --victim
            printf '%s\n' youngest least-work
        case --on-likely
            printf '%s\n' report abort
        case --on-unwatchable
            printf '%s\n' run stop
        case '*'
            contains -- $argv[2] FILE PATH DIR FOLDER FOLDERS
            and __fish_complete_path (commandline -ct | string replace -r '^--[a-z-]+=' '')
    end
end

# What the operands of a command can be.
function __gordian_operand
    switch "$argv[1]"
        case '' help
            __gordian_commands
        case run
            __fish_complete_subcommand --fcs-skip=2
        case inspect
            __fish_complete_pids
            __fish_complete_path (commandline -ct)
        case detect check collectives avoid compose makespan send convert
            __fish_complete_path (commandline -ct)
        case gen bench
            __gordian_listed $argv[1] --list
        case papers
            gordian papers 2>/dev/null | string replace -rf '^(?:  ([a-z]+/\\S+) .*|([a-z]+): .*)$' '$1$2'
    end
end

function __gordian_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l command (string match -v -- '-*' $words[2..-1])[1]
    set -l about $command
    test -n "$about"; or set about info
    if set -l parts (string match -r -- '^(--[a-z-]+)=' $current)
        # --name=value is one word here.
        set -l option (__gordian_with_argument $about $parts[2])
        set -q option[1]; and string replace -r -- '^' "$parts[1]" (__gordian_argument $option $command)
        return
    end
    if string match -q -- '-*' $words[-1]
        set -l option (__gordian_with_argument $about $words[-1])
        if set -q option[1]
            __gordian_argument $option $command
            return
        end
    end
    if string match -q -- '-*' $current
        __gordian_options $about
    else
        __gordian_operand $command
    end
end

complete -c gordian -f -a '(__gordian_complete)'
