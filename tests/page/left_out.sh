#!/bin/sh
# Where node's packages cannot be had the page is left out: what is built instead compiles, and says why.
#
#     left_out.sh SOURCE-ROOT COMPILER...
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
root=$(absolute "$1")
shift
enter_scratch
mkdir bin
printf '#!/bin/sh\nexit 1\n' >bin/npm
chmod +x bin/npm
PATH=$PWD/bin:$PATH
"$root/web/build" work page.c 2>said
is $? 0 "it never fails"
check "it says so" grep -q 'is left out' said
check "outcome" grep -q '^left out' work/outcome
check "it compiles" "$@" -std=gnu17 -I "$root/src" -I "$root/include" -c -o page.o page.c
finish
