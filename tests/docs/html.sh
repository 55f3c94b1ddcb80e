#!/bin/sh
# The documents as HTML: every link leads somewhere, and the reference has every function of the library, with something said about it.
#
#     html.sh SOURCE LIBRARY
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
source=$(absolute "$1")
library=$(absolute "$2")
if ! command -v cmark-gfm >/dev/null || ! command -v mandoc >/dev/null || ! command -v nm >/dev/null; then
    echo 'it needs cmark-gfm, mandoc and nm: skipped'
    exit 77
fi
enter_scratch
check 'no link leads nowhere, no function is passed over in silence' "$source/scripts/html" "$scratch/html"
nm -D --defined-only "$library" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >exported
sed -n 's/.*<div class="api" id="\(gordian_[a-z0-9_]*\)".*/\1/p' html/api/*.html | sort >described
check 'the reference has every function' diff exported described
for page in index.html man/gordian-inspect.1.html docs/guide/concepts.html docs/lab/results/README.html; do
    check "there is $page" test -s "html/$page"
done
finish
