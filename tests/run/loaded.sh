#!/bin/sh
# Lock orders and libraries that are loaded and unloaded: what the main thread does when the thread
# of a library has ended can meet nobody, and locks of a library are gone with it.
#
#     loaded.sh LIBRARY LOADED PLUGIN
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
library=$(absolute "$1")
loaded=$(absolute "$2")
plugin=$(absolute "$3")
enter_scratch

for name in alone again both; do
    LD_PRELOAD=$library GORDIAN_TOOL='' timeout $patience "$loaded" $name "$plugin" >output 2>&1
    check "$name: exit status" test $? -eq 0
    case $name in
    both) check "$name: potential" grep -q '^gordian: potential deadlock' output ;;
    *) check "$name: $(cat output)" test ! -s output ;;
    esac
done
finish
