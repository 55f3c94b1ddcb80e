#!/bin/sh
# Programs started by watched ones: those that cannot be watched run as natively, and are told; those
# that can are watched, even if the environment was cleared on the way.
#
#     started.sh GORDIAN STARTED [STARTED_OTHERWISE]...
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
started=$(absolute "$2")
shift 2
from=$PWD
enter_scratch
others=
for program; do
    case $program in
    /*) ;;
    *) program=$from/$program ;;
    esac
    ln -s "$program" .
    others="$others $(basename "$program")"
done
ln -s "$started" started
PATH=$scratch:$PATH
hows='execve execve-empty execv execvp execl execlp execle fexecve spawn spawnp spawn-empty vfork'

# runs HOW PROGRAM: as natively; what the command said is in the file said.
runs()
{
    ./started "$1" "$2" >native 2>&1
    echo $? >>native
    timeout $patience "$gordian" run -- ./started "$1" "$2" >watched 2>said
    echo $? >>watched
    cmp -s native watched || { diff native watched; cat said; false; }
}

for how in $hows; do
    case $how in
    *p) name=started ;;
    *) name=./started ;;
    esac
    check "$how: a program that can be watched" runs "$how" $name
    check "$how: is watched: $(cat said)" grep -q 'watched 1 lock,.*2 processes\|watched 1 lock, 3 threads' said
    for program in $others; do
        # Sanitized ones are slow, and ThreadSanitizer's start themselves again by their path.
        case $program-$how in
        *_static-* | *_musl-* | *-execve-empty | *-execvp | *-spawn | *-vfork) ;;
        *) continue ;;
        esac
        case $how in
        *p) name=$program ;;
        *) name=./$program ;;
        esac
        check "$how: $program" runs "$how" "$name"
        check "$how: $program is told: $(cat said)" grep -q '1 program that it started could not be watched' said
    done
done

# A shell in between, a name that is not there, one that is not to be watched at all.
for program in $others; do
    timeout $patience "$gordian" run -- sh -c "./$program; ./$program; exit \$?" >watched 2>said
    check "sh: $program: exit status" test $? -eq 3
    check "sh: $program: told" grep -q '2 programs that it started could not be watched' said
    check "sh: $program: by name" grep -q "/$program'" said
done
timeout $patience "$gordian" run -- ./started execv ./nothing >watched 2>said
check 'nothing: exit status' test $? -eq 96
check 'nothing: why' grep -q '^not started: No such file or directory$' watched
timeout $patience "$gordian" run -- env -i GORDIAN_RUN=0 ./started >watched 2>said
check 'GORDIAN_RUN=0 stays' grep -q 'watched 0 locks' said
timeout $patience "$gordian" run --no-follow -- ./started execve ./started >watched 2>said
check '--no-follow stays' grep -q 'watched 0 locks' said
finish
