#!/bin/sh
# Programs whose locks are those of their run-time system are told as what they are, with the tool that knows them:
# Go's, by the mark that its linker leaves, and Java's.
#
#     runtimes.sh GORDIAN UNMARKED MARKED...
#
# MARKED has Go's mark, UNMARKED has not. A real Go program and a real Java program are tried where these are installed.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
unmarked=$(absolute "$2")
shift 2
from=$PWD
enter_scratch

# told PID SENTENCE: looked at, nothing is found, but not everything was seen, and this is said. It may
# just have begun.
told()
{
    "$gordian" inspect "$1" >told 2>&1
    [ $? -eq 5 ] && grep -q -e "$2" told
}

# look_at WHAT SENTENCE COMMAND...: alive, and under `gordian run`.
look_at()
{
    what=$1
    sentence=$2
    shift 2
    "$@" >said 2>&1 &
    process=$!
    wait_for "$what to be told as what it is" told $process "$sentence"
    has "$(cat told)" "QUIT $process'" "$what: what helps"
    kill -9 $process
    wait $process 2>/dev/null
    if is_built run; then
        timeout $patience "$gordian" run --on-hang 2 -- "$@" >said 2>stderr
        is $? 87 "$what, run: exit status"
        check "$what, run: is told" grep -q -e "$sentence" stderr
    fi
}

for program; do
    case $program in
    /*) ;;
    *) program=$from/$program ;;
    esac
    look_at "$(basename "$program")" 'belongs to a Go program' "$program"
done

# One without the mark is not.
"$unmarked" abba-mutex-mutex idle >said &
process=$!
wait_for 'the threads to sleep' asleep $process 3
"$gordian" inspect --verbose $process >told 2>&1
has_not "$(cat told)" 'Go program' 'one that is not'
kill -9 $process
wait $process 2>/dev/null

# All goroutines wait, but for one, so that Go does not end the program by itself.
if command -v go >/dev/null; then
    cat >hang.go <<'END'
package main

import (
    "os"
    "os/signal"
    "sync"
)

func main() {
    var a, b sync.Mutex
    var met sync.WaitGroup
    met.Add(2)
    cross := func(first, second *sync.Mutex) {
        first.Lock()
        met.Done()
        met.Wait()
        second.Lock()
    }
    go cross(&a, &b)
    go cross(&b, &a)
    ended := make(chan os.Signal, 1)
    signal.Notify(ended, os.Interrupt)
    <-ended
}
END
    HOME=$scratch GOFLAGS=-mod=mod CGO_ENABLED=0 go build -o hang_go hang.go >built 2>&1
    check "go build: $(tail -n 3 built)" test $? -eq 0
    [ ! -x hang_go ] || look_at 'Go' 'belongs to a Go program' ./hang_go
fi

if command -v java >/dev/null; then
    cat >Hang.java <<'END'
public class Hang {
    static final Object a = new Object(), b = new Object();
    static final java.util.concurrent.CyclicBarrier met = new java.util.concurrent.CyclicBarrier(2);
    static void cross(Object first, Object second) {
        synchronized (first) {
            try { met.await(); } catch (Exception e) { throw new RuntimeException(e); }
            synchronized (second) { }
        }
    }
    public static void main(String[] arguments) {
        new Thread(() -> cross(a, b)).start();
        cross(b, a);
    }
}
END
    java Hang.java >said 2>&1 &
    process=$!
    wait_for 'Java to be told as what it is' told $process "belongs to a Java virtual machine.*'jstack $process'"
    kill -9 $process
    wait $process 2>/dev/null
fi
finish
