#!/bin/sh
# Holds the listings of a document against the files they are from: a block that starts with
# "```c PATH" must be in that file, line for line. What is in those files is compiled and run.
#
#     listings.sh ROOT DOCUMENT...
set -eu

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
root=$(absolute "$1")
shift
enter_scratch

for document in "$@"; do
    rm -f ./*
    awk '
        /^```c [^ ]+$/ { inside = 1; name = sprintf("%03d", ++count); print $2 > (name ".path"); next }
        /^```$/ { inside = 0; next }
        inside { print > (name ".listing") }
    ' "$root/$document"
    for listing in *.listing; do
        [ -e "$listing" ] || continue
        path=$(cat "${listing%.listing}.path")
        # The file holds the listing if the lines from where its first one is are the same.
        if awk -v listing="$listing" '
            BEGIN { while ((getline line < listing) > 0) want[++count] = line }
            { at[NR] = $0 }
            END {
                for (start = 1; start + count - 1 <= NR; start++) {
                    for (i = 1; i <= count && at[start + i - 1] == want[i]; i++)
                        continue
                    if (i > count)
                        exit 0
                }
                exit 1
            }' "$root/$path"; then
            good
        else
            bad "$document: the listing of $path is not what that file has"
        fi
    done
done
finish
