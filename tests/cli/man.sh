#!/bin/sh
# The manual pages: they list exactly the options of --help, mandoc has nothing to say against
# them (where it is installed), and their examples do what they show.
#
#   man.sh GORDIAN SOURCE-ROOT
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
LC_ALL=C
export PATH LC_ALL
failed=0
complain() {
    echo "$*"
    failed=1
}

# Parts that this program may have been built without.
has_run=true
has_serve=true
gordian help run | grep -q 'built without' && has_run=false
gordian help serve | grep -q 'built without' && has_serve=false
is_built() {
    case $1 in
    run) $has_run ;;
    serve | incidents) $has_serve ;;
    esac
}

# Long options in --help, and in a page's .It and .Fl lines of the options.
options_of_help() {
    gordian "$1" --help | sed -n 's/^  -\{0,1\}.\{0,1\},\{0,1\} *--\([a-z-]*\).*/\1/p' | sort
}
options_of_page() {
    sed -n '/^\.Sh OPTIONS/,/^\.Sh [^O]/s/^\.It Fl \(. , \)\{0,1\}-\([a-z-]*\).*/\2/p' "$1" | sort
}

# The examples of a page as a script: `$ cat FILE` shows a file, any other `$ COMMAND` in a
# literal block what it prints, and a displayed line only has to work.
examples_of() {
    awk '
        function finish() {
            if (open != "")
                print "END_OF_TEXT"
            if (open == "output")
                print "sh ./command > actual; diff -u expected actual || echo different > failed"
            open = ""
        }
        /^\.Sh / { inside = $2 == "EXAMPLES"; next }
        !inside { next }
        /^\.Bd -literal/ { literal = 1; next }
        /^\.Ed/ { finish(); literal = 0; next }
        literal && /^\$ cat / { finish(); open = "file"; print "cat > " $3 " <<\"END_OF_TEXT\""; next }
        literal && /^\$ / {
            finish(); open = "output"
            print "cat > command <<\"END_OF_TEXT\"\n" substr($0, 3) "\nEND_OF_TEXT"
            print "cat > expected <<\"END_OF_TEXT\""
            next
        }
        literal { print; next }
        /^\.Dl \$ gordian bench/ { next }
        /^\.Dl \$ / {
            print "echo \"" substr($0, 7) "\" | tr -d \\\" > shown"
            print "( " substr($0, 7) " ) > /dev/null; [ $? -le 1 ] || { cat shown; echo > failed; }"
        }' "$1"
}

for page in "$root"/man/gordian-*.1; do
    command=$(basename "$page" .1)
    command=${command#gordian-}
    [ "$command" != mpi ] || continue # a program of its own, not a command
    is_built "$command" || continue
    options_of_help "$command" >"$scratch/help"
    options_of_page "$page" >"$scratch/page"
    [ "$(wc -l <"$scratch/help")" -ge 7 ] || complain "$command --help: no options found"
    diff "$scratch/help" "$scratch/page" ||
        complain "$page: its options are not those of 'gordian $command --help'"
    grep -q "^\.Xr gordian-$command 1" "$root/man/gordian.1" || complain "gordian.1: no $command"
    rm -rf "$scratch/folder"
    mkdir "$scratch/folder"
    examples_of "$page" >"$scratch/examples"
    (cd "$scratch/folder" && : >trace && sh "$scratch/examples")
    [ ! -e "$scratch/folder/failed" ] || complain "$page: an example does not do what it shows"
done
for command in $(gordian help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    [ -f "$root/man/gordian-$command.1" ] || complain "no manual page for $command"
done
if command -v mandoc >/dev/null; then
    for page in "$root"/man/*.1; do
        mandoc -T lint -W warning "$page" || complain "mandoc objects to $page"
    done
fi
exit $failed
