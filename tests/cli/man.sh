#!/bin/sh
# The manual pages: mandoc has nothing to say against them (where it is installed), and their examples
# do what they show. Their options: manual_options.py.
#
#     man.sh GORDIAN SOURCE-ROOT
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
root=$(absolute "$2")
enter_scratch
on_path gordian "$gordian"
LC_ALL=C

# The examples of a page as a script: `$ cat FILE` shows a file, any other `$ COMMAND` in a
# literal block what it prints, and a displayed line only has to work.
examples_of()
{
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
        /^\.Dl \$ gordian (bench|info --crossover)/ { next } # they measure
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
    check "gordian.1: $command" grep -q "^\.Xr gordian-$command 1" "$root/man/gordian.1"
    rm -rf folder
    mkdir folder
    examples_of "$page" >examples
    (cd folder && : >trace && sh ../examples)
    check "$page: its examples do what they show" test ! -e folder/failed
done
for command in $(gordian help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    check "a manual page for $command" test -f "$root/man/gordian-$command.1"
done
if command -v mandoc >/dev/null; then
    for page in "$root"/man/*.1; do
        check "mandoc has nothing against $page" mandoc -T lint -W warning "$page"
    done
fi
finish
