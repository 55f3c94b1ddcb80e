#!/bin/sh
# Follows the links of documents: files that are named must be there, and headings that are named
# after a '#' must be in them. Links to other hosts are not followed.
#
#     links.sh ROOT DOCUMENT...
set -eu

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
cd "$1"
shift

# The links of a document, one a line: [text](target), outside of code.
links()
{
    awk '
        /^```/ { code = !code; next }
        code { next }
        {
            gsub(/`[^`]*`/, "")
            while (match($0, /\]\([^() ]+\)/)) {
                print substr($0, RSTART + 2, RLENGTH - 3)
                $0 = substr($0, RSTART + RLENGTH)
            }
        }' "$1"
}

# The names of its headings, as they are linked to: small letters, no marks, dashes for blanks.
headings()
{
    awk '
        /^```/ { code = !code; next }
        code || !/^#+ / { next }
        {
            sub(/^#+ +/, "")
            print tolower($0)
        }' "$1" | sed -e 's/\[\([^]]*\)\]([^)]*)/\1/g' -e 's/[^[:alnum:]_ -]//g' -e 's/ /-/g'
}

for document in "$@"; do
    for link in $(links "$document"); do
        case $link in *://* | mailto:*) continue ;; esac
        file=${link%%#*}
        heading=${link#"$file"}
        target=$document
        [ -z "$file" ] || target=$(dirname "$document")/$file
        if [ ! -e "$target" ]; then
            bad "$document: $link: there is no such file"
        elif [ -n "$heading" ] && ! headings "$target" | grep -qxF -- "${heading#\#}"; then
            bad "$document: $link: there is no such heading"
        else
            good
        fi
    done
done
finish
