#!/bin/sh
# Runs the examples of documents: in every ```console block, each line that starts with "$ " is a
# command, and what follows up to the next one is what it prints.
#
#     examples.sh GORDIAN EXAMPLES DOCUMENT...
#
# The commands find what the reader has, and nothing else: the files that the document itself shows
# with "$ cat FILE", and those of EXAMPLES, a folder.
set -eu

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
examples=$(absolute "$2")
shift 2
enter_scratch
on_path gordian "$gordian"

# Splits a document into numbered pairs: N.command and N.expected. What `cat` shows is there.
split()
{
    rm -rf cases folder
    mkdir cases folder
    cp "$examples"/* folder
    awk '
        /^```console$/ { inside = 1; next }
        /^```$/ { inside = 0; shown = ""; next }
        inside && /^\$ / {
            name = sprintf("cases/%03d", ++count)
            print substr($0, 3) > (name ".command")
            printf "" > (name ".expected")
            shown = $2 == "cat" && NF == 3 ? "folder/" $3 : ""
            if (shown) printf "" > shown
            next
        }
        inside && name { print > (name ".expected") }
        inside && shown { print > shown }
    ' "$1"
}

for document in "$@"; do
    split "$document"
    for command in cases/*.command; do
        [ -e "$command" ] || continue
        expected=${command%.command}.expected
        (cd folder && sh "../$command") >got 2>&1 || true
        if cmp -s "$expected" got; then
            good
        else
            bad "$document: $(cat "$command")"
            diff -u "$expected" got >&2 || true
        fi
    done
done
finish
