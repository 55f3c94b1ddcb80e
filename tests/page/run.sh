#!/bin/sh
# The page's tests: its parts alone, then the whole in Chromium against the built service.
#
#     run.sh GORDIAN PAGE-WORK
#
# PAGE-WORK is where web/build built the page.
set -u

here=$(cd "$(dirname "$0")" && pwd)
GORDIAN=$(realpath "$1")
PAGE_WORK=$(realpath "$2")
export GORDIAN PAGE_WORK

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
    echo "there is no chromium to test the page with"
    [ -n "${CI:-}" ] && exit 1
    exit 77
fi

status=0
(cd "$PAGE_WORK" && node test/run.mjs) || status=1
node "$here/all.test.mjs" || status=1
exit $status
