#!/bin/sh
# Packs the last commit twice, in two places: the same bytes, nothing of this machine in them, and with what is needed
# without git and node.
#
#     dist.sh SOURCE
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
source=$(absolute "$1")
if ! git -C "$source" rev-parse HEAD >/dev/null 2>&1 || ! command -v npm >/dev/null || ! command -v xz >/dev/null; then
    echo 'it needs git, npm and xz: skipped'
    exit 77
fi
enter_scratch
if ! one=$(TMPDIR=$scratch "$source/scripts/dist" "$scratch/one" 2>log); then
    if grep -q 'the page cannot be built here' log; then
        echo 'the page cannot be built here: skipped'
        exit 77
    fi
    cat log >&2
    exit 1
fi
mkdir elsewhere
(umask 077 && TMPDIR=$scratch/elsewhere TZ=Asia/Tokyo "$source/scripts/dist" "$scratch/two" >/dev/null 2>&1)
check 'the same bytes twice' cmp "$one" "two/${one##*/}"
tar -tJf "$one" >list
name=$(basename "$one" .tar.xz)
for file in commit web/prebuilt.c meson.build Makefile debian/control README.md; do
    check "it has $file" grep -qx "$name/$file" list
done
check 'everything is in one folder' test -z "$(grep -v "^$name/" list)"
check 'nothing of git is in it' test -z "$(grep '/\.git/' list)"
finish
