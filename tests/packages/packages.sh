#!/bin/sh
# The Debian packages on a bare Debian: installed, used by root and by an ordinary user, removed without a trace. Needs
# root, debootstrap and a mirror of Debian's; otherwise it is skipped.
#
#     packages.sh SOURCE [FOLDER WITH PACKAGES]
#
# GORDIAN_DEBIAN_ROOT: a bare Debian that is there already; it is copied. GORDIAN_DEBIAN_MIRROR: the mirror.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
source=$(absolute "$1")
debs=${2:+$(absolute "$2")}
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null || ! command -v dh >/dev/null; then
    echo 'it needs root, debootstrap and debhelper: skipped'
    exit 77
fi
. /etc/os-release
mirror=${GORDIAN_DEBIAN_MIRROR:-http://deb.debian.org/debian}
enter_scratch
root=$scratch/root
mounted=false

# Nothing is removed through a mount.
let_go()
{
    if $mounted; then
        umount "$root/proc" && mounted=false
    fi
    if $mounted; then
        trap - EXIT
        echo "packages: $root/proc is still in use" >&2
        exit 1
    fi
    leave_scratch
}
trap let_go EXIT

if [ -z "$debs" ]; then
    debs=$scratch/debs
    DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocuda} "$source/scripts/deb" "$debs" >log 2>&1 || { cat log >&2; exit 1; }
fi
if [ -n "${GORDIAN_DEBIAN_ROOT-}" ]; then
    cp -a "$GORDIAN_DEBIAN_ROOT" "$root"
elif ! debootstrap --variant=minbase "${VERSION_CODENAME:-stable}" "$root" "$mirror" >log 2>&1; then
    tail -n 3 log >&2
    echo 'no Debian to be had: skipped'
    exit 77
fi
mount -t proc proc "$root/proc" && mounted=true
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs"
# Nobody starts services in there.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
cp /etc/resolv.conf "$root/etc/resolv.conf"
[ ! -e /etc/apt/apt.conf.d ] || cp /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null

inside()
{
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/tmp DEBIAN_FRONTEND=noninteractive "$@"
}

as_user()
{
    inside setpriv --reuid=1234 --regid=1234 --clear-groups "$@"
}

# add NAME...: our packages, and what they must have.
add()
{
    files=
    for name; do
        files="$files $(cd "$root" && echo debs/"$name"_*.deb)"
    done
    # shellcheck disable=SC2086 # a list of words
    inside sh -c 'cd / && apt-get -q install -y --no-install-recommends "$@"' sh \
        $(for file in $files; do echo "/$file"; done) >log 2>&1 || { cat log >&2; return 1; }
}

packages()
{
    inside dpkg-query -W -f '${Package}\n' | sort
}

what_is_there()
{
    (cd "$root" && find bin etc lib usr var/lib -xdev \( -type f -o -type l \) ! -path 'var/lib/dpkg/*' ! -path 'var/lib/apt/*' \
        ! -path '*/__pycache__/*' ! -path 'etc/ld.so.cache' ! -path 'var/lib/systemd/deb-systemd-helper*' 2>/dev/null | sort)
}

# What the README shows, with what is installed.
readme()
{
    "$@" sh /source/tests/docs/examples.sh /usr/bin/gordian /source/examples/circuits /source/README.md
}

# Names the deadlock of a program that hangs.
names_deadlock()
{
    "$@" sh -c '/tmp/hung >/dev/null & pid=$!
        for i in 1 2 3 4 5 6 7 8 9; do # until it hangs
            gordian inspect $pid >/tmp/told.$$ 2>/dev/null
            status=$?
            [ $status -ne 1 ] || break
            sleep 1
        done
        kill -9 $pid
        [ $status -eq 1 ] && grep -q "deadlock, proved" /tmp/told.$$ && cat /tmp/told.$$; code=$?
        rm -f /tmp/told.$$
        exit $code' >told
}

# A service that an ordinary user runs, a trace sent to it, and the deadlock that it remembers.
serves()
{
    as_user sh -c 'cd /tmp && rm -rf state && gordian serve --socket g.sock --data state --http none 2>log &
        pid=$!
        for i in 1 2 3 4 5 6 7 8 9 10; do
            for k in 1 2 3 4 5 6 7 8 9 10; do [ -S /tmp/g.sock ] && break; sleep 0.1; done
        done
        gordian send --to unix:/tmp/g.sock /source/locks.trace >/dev/null; status=$?
        kill $pid; wait $pid 2>/dev/null
        [ $status -eq 1 ] && gordian incidents --data /tmp/state | grep -q checkout'
}

mkdir -p "$root/source/tests"
cp -r "$source/README.md" "$source/examples" "$root/source"
cp -r "$source/tests/docs" "$source/tests/shell.sh" "$root/source/tests"
"${CC:-cc}" -g -O0 -pthread -o "$root/tmp/hung" "$source/examples/bank.c" || exit 1
awk '/^\$ cat locks.trace$/ { on = 1; next } /^\$ |^```/ { on = 0 } on' "$source/README.md" >"$root/source/locks.trace"
inside apt-get -q update >log 2>&1 || { cat log >&2; exit 77; }
packages >before
what_is_there >files-before

# ---- the core: the C library alone
check 'the command installs' add gordian
packages | comm -13 before - >new
check 'it brings nobody along' test "$(cat new)" = gordian
check 'the README runs, as root' readme inside
check 'the README runs, as an ordinary user' readme as_user
check 'a hung process is named, as root' names_deadlock inside
check 'a hung process is named, as an ordinary user' names_deadlock as_user
check 'what is not installed is said' sh -c "chroot '$root' gordian serve 2>&1 | grep -q 'package gordian-serve'"
check 'so is what would tell lines' sh -c "chroot '$root' gordian info | grep -q 'stacks *not available.*libdw'"

# ---- with elfutils
check 'elfutils installs' inside apt-get -q install -y --no-install-recommends libdw1
names_deadlock as_user
check 'now there are lines' grep -q 'bank.c:' told

# ---- the library
check 'the library installs' add libgordian0
packages | comm -13 before - | grep -v -e '^libdw1$' -e '^libelf1$' >new
check 'it brings nobody along, too' test "$(tr '\n' ' ' <new | grep -c 'gordian libgordian0 $')" -eq 1
check 'what builds programs installs' add libgordian-dev
check 'a compiler installs' inside apt-get -q install -y --no-install-recommends gcc libc6-dev pkg-config
check 'an example builds' inside sh -c 'cc -o /tmp/philosophers /source/examples/philosophers.c $(pkg-config --cflags --libs gordian)'
as_user /tmp/philosophers >told 2>/dev/null
check 'and runs' cmp told "$source/examples/philosophers.expected"

# ---- the service, the watcher, Python
check 'the service installs' add gordian-serve
check 'with its user' inside id gordian
check 'and its unit' inside test -e /usr/lib/systemd/system/gordian.service -o -e /lib/systemd/system/gordian.service
check 'it serves' serves
check 'the watcher installs' add gordian-watch
check 'it is there' sh -c "chroot '$root' gordian watch --help | grep -q -e --once"
check 'the Python package installs' add python3-gordian
check 'Python uses it' as_user python3 -c '
import gordian
with gordian.System() as system:
    fork = system.add_resource("fork")
'
check 'the measurements install' add gordian-lab
check 'they are there' sh -c "chroot '$root' gordian papers 3.3 | grep -q thesis"
check 'the one for MPI installs' add gordian-mpi
check 'nothing is missing any more' sh -c "chroot '$root' gordian --version | grep '^with: ' | grep -q 'run.*stacks serve page tls'"

# ---- and gone
check 'all of it goes' inside apt-get -q purge -y gordian libgordian0 libgordian-dev gordian-serve gordian-watch gordian-lab gordian-mpi \
    python3-gordian
inside sh -c 'rm -rf /tmp/state /tmp/g.sock'
check 'nothing of it is left' test -z "$(what_is_there | comm -13 files-before - | grep -i gordian)"
finish
