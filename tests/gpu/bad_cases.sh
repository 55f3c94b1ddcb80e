#!/bin/sh
# What `gordian` does when the device does not: on a real GPU, or with GORDIAN_EMULATE_GPU=1 in the
# emulator. The last line says "N passed, M failed".
#
#     bad_cases.sh GORDIAN
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
enter_scratch

# Is the output of one of the engines, in file $1, that of sparse, in $2?
same() { sed 's/"engine":"cuda\(-blocks\)\{0,1\}"/"engine":"sparse"/' "$1" | cmp -s - "$2"; }

# detect ENGINE TRACE: JSON in `out`, what was said in `said`, the exit status in `code`
detect()
{
    "$gordian" detect --json --engine "$1" "$2" >out 2>said
    code=$?
}

events=30000 ids=3000000 idle=3 traps='5 100 400'
if [ -n "${GORDIAN_EMULATE_GPU-}" ]; then # where everything takes longer
    events=2000 ids=30000 idle=0
fi
if [ "${GORDIAN_TEST_SCALE:-100}" -lt 10 ]; then
    events=500 traps=100
fi
"$gordian" gen random --processes 200 --resources 150 --events $events --contention 60 \
    --deadlocks 20 --cancels 4 --exits 2 --hand-overs 20 >single.trace
"$gordian" gen multi --processes 60 --resources 40 --units 3 --events $events --contention 80 \
    --deadlocks 20 --cancels 4 --exits 2 >multi.trace
for model in single multi; do
    detect sparse $model.trace
    mv out $model.sparse
    echo $code >$model.code
done

# ---- a kernel that traps: early, under way, late
for model in single multi; do
    for engine in cuda cuda-blocks; do
        for after in $traps; do
            GORDIAN_GPU_FAIL_AFTER=$after detect $engine $model.trace
            check "$engine, $model, trap after $after: exit status" [ "$code" = "$(cat $model.code)" ]
            check "$engine, $model, trap after $after: output" same out $model.sparse
            check "$engine, $model, trap after $after: a note" grep -q "continuing with sparse" said
        done
        echo "$engine, $model: $(grep 'continuing with sparse' said)"
        detect $engine $model.trace
        check "$engine, $model, no trap: output" same out $model.sparse
        check "$engine, $model, no trap: no note" [ "$(grep -c 'continuing with sparse' said)" = 0 ]
    done
done
"$gordian" gen ring --processes 1000 --snapshot >ring.trace
GORDIAN_GPU_FAIL_AFTER=2 "$gordian" check --json --engine cuda ring.trace >out 2>said
check "check, trap: exit status" [ $? = 4 ]
check "check, trap: no output" [ ! -s out ]
echo "check: $(cat said)"

for after in 0 3 40; do
    GORDIAN_GPU_FAIL_AFTER=$after "$gordian" makespan --kernel LLCCCLCC --warps 4 \
        --units L=1,C=2 --chains 4 --evaluations 50 --json --engine cuda >out 2>said
    check "makespan, trap after $after: exit status" [ $? = 0 ]
    check "makespan, trap after $after: the answer" grep -q '"exact":true.*"engine":"exact"' out
    check "makespan, trap after $after: a note" grep -q "the CPU was used instead" said
done
echo "makespan: $(cat said)"

# ---- too little memory: matrices for three million ids are 1 TiB and more
[ -z "${GORDIAN_EMULATE_GPU-}" ] || export GORDIAN_EMULATOR_MEMORY=20000000
"$gordian" gen chain --processes $ids | "$gordian" detect --json --engine cuda >out 2>said
check "memory: exit status" [ $? = 4 ]
check "memory: size and room" grep -q 'take [0-9]* MiB of device memory: .* has [0-9]* MiB' said
check "memory: no event before it" [ ! -s out ]
echo "memory: $(cat said)"
unset GORDIAN_EMULATOR_MEMORY

# ---- killed while its kernel runs, then idle: the next one must find the device as if nothing had
# been
watts() { nvidia-smi --query-gpu=power.draw,utilization.gpu --format=csv,noheader 2>/dev/null | sed -n 1p; }

before=$(watts)
mkfifo pipe
"$gordian" detect --json --engine cuda <pipe >out 2>said &
resident=$!
exec 3>pipe
printf 'resource %s\n' a b >&3
printf 'request %s\n' 'p a' 'r b' 'p b' 'r a' >&3 # a deadlock: its line comes at once
wait_for 'the kernel to run' grep -q '"result":"deadlock"' out
sleep $idle
[ -z "$before" ] || echo "power, utilisation: $before without, $(watts) with an idle resident kernel"
start=$(date +%s)
kill -9 $resident
wait $resident 2>/dev/null
detect cuda single.trace
check "killed: the next one works" same out single.sparse
check "killed: on the device" [ "$(grep -c 'continuing with sparse' said)" = 0 ]
[ -n "${GORDIAN_EMULATE_GPU-}" ] || check "killed: at once" [ $(($(date +%s) - start)) -le 20 ]
exec 3>&-

finish
