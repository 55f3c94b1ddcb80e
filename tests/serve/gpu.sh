#!/bin/sh
# Several systems on one GPU in one service: two of detection and a bank, each with its own client,
# all at once, and one more opened while they are busy. Their answers are those of the CPU's
# engines; after kill -9 they are back on the device and go on where they were.
#
#     [EVENTS=N] gpu.sh GORDIAN
#
# With GORDIAN_EMULATE_GPU=1 on the emulator.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
events=${EVENTS:-20000}
[ "${GORDIAN_TEST_SCALE:-100}" -ge 10 ] || events=$((events / 4))

if ! "$gordian" info --engine cuda >/dev/null 2>&1; then
    echo "no GPU"
    exit 77
fi
if ! is_built serve; then
    echo "built without the service"
    exit 77
fi
enter_scratch

# send SYSTEM KIND ENGINE FILE...: what the service answers, without numbers of events and without
# safe sequences, of which every engine may find its own
send()
{
    system=$1 kind=$2 engine=$3
    shift 3
    # The service is looked at for leaks, what it is talked to with is not.
    cat "$@" | ASAN_OPTIONS=detect_leaks=0 timeout $patience "$gordian" send --to unix:socket \
        --system "$system-$engine" --open "$kind engine=$engine" --all --json \
        >"$system-$engine.raw" 2>"$system-$engine.said"
    echo "$?" >"$system-$engine.code"
    sed -e 's/"seq":[0-9]*,//' -e 's/,"sequence":\[[^]]*\]//' -e '/^{"summary"/d' \
        "$system-$engine.raw" >"$system-$engine.out"
}

# same SYSTEM CPU: the device's answers are the CPU's, from an engine on the device
same()
{
    if [ -s "$1-$2.out" ] && cmp -s "$1-cuda.out" "$1-$2.out" &&
        [ "$(cat "$1-cuda.code")" = "$(cat "$1-$2.code")" ]; then
        good
    else
        bad "$3: $1 differs between cuda and $2"
        diff "$1-cuda.out" "$1-$2.out" | head -5 >&2
        cat "$1-cuda.said" >&2
    fi
    case $(tail -n 1 "$1-cuda.raw") in
    *'"engine":"cuda"'*) good ;;
    *)
        bad "$3: $1 is not on the device: $(tail -n 1 "$1-cuda.raw")"
        cat log >&2
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

serve --data kept --http none
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

kill_service
serve --data kept --http none
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
check "the service tells what 'gordian detect' does" cmp told single-cuda.out
stop
finish
