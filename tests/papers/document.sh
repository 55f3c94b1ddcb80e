#!/bin/sh
# docs/lab/papers.md and its pictures are what the command prints from the recorded results; the program
# has the same ones inside.
#
#     document.sh GORDIAN DOCS
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
docs=$(absolute "$2")
enter_scratch

"$gordian" papers --markdown --pictures papers --results "$docs/papers/results.json" >papers.md
check "papers.md is what 'gordian papers --markdown' prints: print it again" \
    cmp papers.md "$docs/papers.md"
"$gordian" papers --markdown >built-in.md
check "the program has the results of docs/lab/papers/results.json" cmp papers.md built-in.md
for picture in papers/*.svg; do
    check "$picture is what 'gordian papers --pictures' draws" cmp "$picture" "$docs/$picture"
done
for picture in "$docs"/papers/*.svg; do
    check "$picture is still drawn" test -f "papers/$(basename "$picture")"
done
finish
