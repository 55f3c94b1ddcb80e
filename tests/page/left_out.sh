#!/bin/sh
# Without node's packages the page is left out: nothing fetches them behind a build, and what takes the
# page's place compiles.
#
#     left_out.sh SOURCE-ROOT COMPILER...
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
root=$(absolute "$1")
shift
enter_scratch
mkdir bin
printf '#!/bin/sh\n: >"%s/called"\nexit 1\n' "$PWD" >bin/npm
chmod +x bin/npm
PATH=$PWD/bin:$PATH
mkdir web
cp "$root/web/build" "$root/web/package-lock.json" web
web/build work page.c 2>said
is $? 1 "it fails"
check "it says what to do" grep -q 'make deps' said
check "npm is not called" test ! -e called
check "it compiles without" "$@" -std=gnu17 -I "$root/src" -I "$root/include" -c -o page.o \
    "$root/src/service/serve/http/page_none.c"
finish
