#!/bin/sh
# Several systems on one GPU in one service: two of detection and a bank, each with its own client,
# all at once, and one more opened while they are busy. Their answers are those of the CPU's
# engines; after kill -9 they are back on the device and go on where they were.
#
#     [EVENTS=N] gpu.sh GORDIAN
#
# With GORDIAN_EMULATE_GPU=1 on the emulator.
set -u

case $1 in
/*) gordian=$1 ;;
*) gordian=$PWD/$1 ;;
esac
events=${EVENTS:-20000}
passed=0
failed=0

if ! "$gordian" info --engine cuda >/dev/null 2>&1; then
    echo "no GPU"
    exit 77
fi
if ! "$gordian" serve --help >/dev/null 2>&1; then
    echo "built without the service"
    exit 77
fi

# Looking for leaks can take seconds: the service is looked at, what it is talked to with is not.
serve_options=${ASAN_OPTIONS-}
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS

scratch=$(mktemp -d) || exit 1
server=
clean_up()
{
    if [ -n "$server" ]; then
        kill -9 "$server" 2>/dev/null
        wait "$server" 2>/dev/null
    fi
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1

start()
{
    ASAN_OPTIONS=$serve_options "$gordian" serve --socket here --data kept --http none 2>said &
    server=$!
    for _ in $(seq 1200); do
        grep -q ready said && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    cat said >&2
    echo "0 passed, 1 failed: the service does not start"
    exit 1
}

# send SYSTEM KIND ENGINE FILE...: what the service answers, without numbers of events and without
# safe sequences, of which every engine may find its own
send()
{
    system=$1 kind=$2 engine=$3
    shift 3
    cat "$@" | timeout 600 "$gordian" send --to unix:here --system "$system-$engine" \
        --open "$kind engine=$engine" --all --json >"$system-$engine.raw" 2>"$system-$engine.said"
    echo "$?" >"$system-$engine.code"
    sed -e 's/"seq":[0-9]*,//' -e 's/,"sequence":\[[^]]*\]//' -e '/^{"summary"/d' \
        "$system-$engine.raw" >"$system-$engine.out"
}

# same SYSTEM CPU: the device's answers are the CPU's, from an engine on the device
same()
{
    if [ -s "$1-$2.out" ] && cmp -s "$1-cuda.out" "$1-$2.out" &&
        [ "$(cat "$1-cuda.code")" = "$(cat "$1-$2.code")" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $3: $1 differs between cuda and $2" >&2
        diff "$1-cuda.out" "$1-$2.out" | head -5 >&2
        cat "$1-cuda.said" >&2
    fi
    case $(tail -n 1 "$1-cuda.raw") in
    *'"engine":"cuda"'*) passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        echo "failed: $3: $1 is not on the device: $(tail -n 1 "$1-cuda.raw")" >&2
        cat said >&2
        ;;
    esac
}

# halves NAME EVENTS: NAME.head and NAME.tail, after what is declared in NAME.first
halves()
{
    awk -v name="$1" -v half=$(($2 / 2)) '
        /^(#|resource|process)/ && n == 0 { print >(name ".first"); next }
        { print >(name (n++ < half ? ".head" : ".tail")) }' "$1.trace"
}

"$gordian" gen random --seed 3 --processes 200 --resources 200 --events "$events" >single.trace
"$gordian" gen multi --seed 4 --processes 150 --resources 60 --events "$events" >multi.trace
"$gordian" gen bank --queue --seed 5 --processes 40 --resources 20 --events $((events / 10)) >bank.trace
"$gordian" gen random --seed 6 --processes 30 --resources 30 --events 200 >late.trace
halves single "$events"
halves multi "$events"
halves bank $((events / 10))

start
send single detect cuda single.first single.head &
first=$!
send multi detect cuda multi.first multi.head &
second=$!
send bank avoid cuda bank.first bank.head &
third=$!
send late detect cuda late.trace
wait "$first" "$second" "$third"
send single detect sparse single.first single.head
send multi detect sparse multi.first multi.head
send bank avoid holt bank.first bank.head
send late detect sparse late.trace
same single sparse "all at once"
same multi sparse "all at once"
same bank holt "all at once"
same late sparse "opened beside the others"

kill -9 "$server"
wait "$server" 2>/dev/null
start
for run in "single detect sparse" "multi detect sparse" "bank avoid holt"; do
    # shellcheck disable=SC2086 # three words
    set -- $run
    send "$1" "$2" cuda "$1.tail" &
    send "$1" "$2" "$3" "$1.tail"
    wait $!
    same "$1" "$3" "after kill -9"
done

# The whole story is also what the command alone tells.
"$gordian" detect --all --json --engine sparse single.trace |
    sed -e 's/"seq":[0-9]*,//' -e '/^{"summary"/d' | tail -n "$(wc -l <single-cuda.out)" >told
if cmp -s told single-cuda.out; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "failed: the service does not tell what 'gordian detect' does" >&2
    diff told single-cuda.out | head -5 >&2
fi

kill "$server"
wait "$server"
code=$?
server=
if [ "$code" -eq 0 ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "failed: the service ended with $code" >&2
    cat said >&2
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
