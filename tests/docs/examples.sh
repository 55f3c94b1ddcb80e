#!/bin/sh
# Runs the examples of a document: in every ```console block, each line that starts with "$ " is a
# command, and what follows up to the next one is what it prints.
#
#     examples.sh GORDIAN DOCUMENT...
set -eu

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
shift
enter_scratch
on_path gordian "$gordian"

# The files the examples read.
cat >locks.trace <<'END'
resource orders
resource stock
process checkout cost=2
process restock  cost=5
request checkout orders
request restock  stock
request checkout stock
request restock  orders
END
cat >peers.treo <<'END'
main() {
    fifofull<0>(ask1, got2)  fifofull<0>(ask2, got1)
    fifo1(got1, ready1)      fifo1(got2, ready2)
    syncdrain(ready1, done2) syncdrain(ready2, done1)
    fifo1(ready1, done1)     fifo1(ready2, done2)
}
END
cat >chain.treo <<'END'
chain<k:int>(a[0]?, b!) { { fifo1(a[i], a[i+1]) | i:<0..k-1> } sync(a[k], b) }
main(a[0]?, a[3]!) { fifo1(a[i], a[i+1]) | i:<0..2> }
END
cat >sum.ptx <<'END'
.version 7.0
.target sm_70
.address_size 64
.visible .entry sum(.param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<3>;
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
Next:
    ld.global.f32 %f1, [%r3];
    add.f32 %f2, %f2, %f1;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra Next;
    ret;
}
END
cat >jobs.trace <<'END'
resource gpu 3
process ann gpu=2
process bob gpu=2
process cal gpu=2
request ann gpu
request bob gpu
request cal gpu
request ann gpu
release ann gpu=2
END

# Splits a document into numbered pairs: N.command and N.expected.
split()
{
    rm -rf cases
    mkdir cases
    awk -v to=cases '
        /^```console$/ { inside = 1; next }
        /^```$/ { inside = 0; next }
        inside && /^\$ / {
            name = sprintf("%s/%03d", to, ++count)
            print substr($0, 3) > (name ".command")
            printf "" > (name ".expected")
            next
        }
        inside && name { print > (name ".expected") }
    ' "$1"
}

for document in "$@"; do
    split "$document"
    for command in cases/*.command; do
        [ -e "$command" ] || continue
        expected=${command%.command}.expected
        sh "$command" >got 2>&1 || true
        if cmp -s "$expected" got; then
            good
        else
            bad "$document: $(cat "$command")"
            diff -u "$expected" got >&2 || true
        fi
    done
done
finish
