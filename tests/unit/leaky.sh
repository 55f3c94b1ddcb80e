#!/bin/sh
# What a test loses is found, also where looking for it is left out if everything was given back (leaks.h).
#
#     leaky.sh LEAKY
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
leaky=$(absolute "$1")
enter_scratch
# As it is decided by the test itself, not by what the shell's tests want.
ASAN_OPTIONS=exitcode=99 "$leaky" 2>said
check 'it ends as if something was found' [ $? -eq 99 ]
check 'which are leaks' grep -q 'LeakSanitizer: detected memory leaks' said
finish
