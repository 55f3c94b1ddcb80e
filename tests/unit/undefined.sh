#!/bin/sh
# Undefined behaviour ends a program, and its place is told: also where it is a trap (scripts/check).
#
#     undefined.sh UNDEFINED SOURCE
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
undefined=$(absolute "$1")
line=$(grep -n '/\* here \*/' "$2" | cut -d : -f 1)
enter_scratch
"$undefined" >out 2>said
check 'it does not get to its end' [ $? -ne 0 ]
check 'nor to what comes next' [ ! -s out ]
check 'and the place is told' grep -q "undefined.c:$line" said
[ "$failed" -eq 0 ] || cat said
finish
