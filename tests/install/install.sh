#!/bin/sh
# Installs into an empty folder and uses what is there the way a stranger would.
#
#     install.sh SOURCE BUILD VERSION PREFIX LIBDIR LIBEXECDIR COMPILER...
set -eu

source=$1
build=$2
version=$3
prefix=$4
libdir=$5
libexecdir=$6
shift 6 # what is left is the compiler

work=$(mktemp -d "$build/installed.XXXXXX") # where temporary files go there may be blanks in names
trap 'rm -rf "$work"' EXIT
root=$work/root
include=$root$prefix/include
lib=$root$prefix/$libdir
share=$root$prefix/share
faults=0

fault()
{
    echo "install: $*" >&2
    faults=$((faults + 1))
}

is_here()
{
    command -v "$1" >/dev/null 2>&1
}

# same EXPECTED-FILE COMMAND...: the command succeeds and prints exactly this.
same()
{
    expected=$1
    shift
    "$@" >"$work/output" || fault "exit status $?: $*"
    diff -u "$expected" "$work/output" >&2 || fault "output differs: $*"
}

# The library of `gordian run`, where there is one.
run_library=
if [ -e "$build/src/sources/run/libgordian-run.so" ]; then
    run_library=$lib/gordian/libgordian-run.so
fi
# Its doors to MPI, and a layer for each MPI that was there.
mpi_libraries=
for library in "$build"/src/sources/mpi/libgordian-mpi*.so; do
    test ! -e "$library" || mpi_libraries="$mpi_libraries $lib/gordian/${library##*/}"
done
# The command over MPI, where there is one.
mpi_command=
if [ -e "$build/gordian-mpi" ]; then
    mpi_command="$root$prefix/bin/gordian-mpi $share/man/man1/gordian-mpi.1"
fi

# The programs that do some of the commands, and what is loaded when it is wanted.
parts=
for part in "$build"/gordian-lab "$build"/gordian-serve "$build"/gordian-watch; do
    test ! -e "$part" || parts="$parts $root$prefix/$libexecdir/gordian/${part##*/}"
done
for module in "$build"/src/libgordian-stacks.so "$build"/src/libgordian-tls.so; do
    test ! -e "$module" || parts="$parts $lib/gordian/${module##*/}"
done

# The units of `gordian serve`, where there is one.
units=
if [ -e "$build/systemd/gordian.service" ]; then
    units="$root$prefix/lib/systemd/system/gordian.service \
        $root$prefix/lib/systemd/system/gordian.socket \
        $root$prefix/lib/systemd/system/gordian-http.socket \
        $root$prefix/lib/sysusers.d/gordian.conf"
fi

# The Python package, where there is one.
python_package=
if [ -e "$build/python/_installed.py" ]; then
    python_package="$build/python/_installed.py $build/python/METADATA $build/python/entry_points.txt \
        $source/python/gordian/py.typed $(echo "$source"/python/gordian/*.py)"
fi

# It is there, whole, and finds a library.
check_python()
{
    package=$(dirname "$(find "$root$prefix" -path '*-packages/gordian/__init__.py')")
    for file in $python_package; do
        case $file in
        */METADATA | */entry_points.txt) there=$package-$version.dist-info ;;
        *) there=$package ;;
        esac
        cmp "$file" "$there/$(basename "$file")" || fault "$file was not installed"
        expected=$((expected + 1))
    done
    if is_here /usr/bin/python3; then
        PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(dirname "$package") GORDIAN_LIBRARY=$lib/libgordian.so.0 \
            /usr/bin/python3 -c 'import gordian; gordian.System().close()' || fault 'import gordian'
    fi
}

check_files()
{
    expected=0
    for file in \
        $run_library \
        $mpi_libraries \
        $mpi_command \
        $units \
        $parts \
        "$root$prefix/bin/gordian" \
        "$include/gordian/gordian.h" \
        "$include/gordian/array.h" \
        "$include/gordian/array_device.h" \
        "$include/gordian/avoid.h" \
        "$include/gordian/client.h" \
        "$include/gordian/compose.h" \
        "$include/gordian/makespan.h" \
        "$include/gordian/ptx.h" \
        "$include/gordian/run.h" \
        "$lib/libgordian.a" \
        "$lib/libgordian.so" \
        "$lib/libgordian.so.0" \
        "$lib/libgordian.so.$version" \
        "$lib/pkgconfig/gordian.pc" \
        "$share/bash-completion/completions/gordian" \
        "$share/zsh/site-functions/_gordian" \
        "$share/fish/vendor_completions.d/gordian.fish" \
        "$share/man/man1/gordian.1" \
        "$share/man/man1/gordian-avoid.1" \
        "$share/man/man1/gordian-bench.1" \
        "$share/man/man1/gordian-check.1" \
        "$share/man/man1/gordian-collectives.1" \
        "$share/man/man1/gordian-compose.1" \
        "$share/man/man1/gordian-convert.1" \
        "$share/man/man1/gordian-detect.1" \
        "$share/man/man1/gordian-gen.1" \
        "$share/man/man1/gordian-incidents.1" \
        "$share/man/man1/gordian-info.1" \
        "$share/man/man1/gordian-inspect.1" \
        "$share/man/man1/gordian-makespan.1" \
        "$share/man/man1/gordian-papers.1" \
        "$share/man/man1/gordian-run.1" \
        "$share/man/man1/gordian-send.1" \
        "$share/man/man1/gordian-serve.1" \
        "$share/man/man1/gordian-tail.1" \
        "$share/man/man1/gordian-watch.1" \
        "$share/man/man3/gordian_array.3"; do
        test -s "$file" || fault "${file#"$root"} was not installed"
        test -h "$file" || expected=$((expected + 1))
    done
    [ -z "$python_package" ] || check_python
    # Nothing else: what is not meant for users stays at home.
    count=$(find "$root" -type f | wc -l)
    test "$count" -eq "$expected" ||
        fault "$count files instead of $expected: $(cd "$root" && find . -type f)"
}

# The functions that the headers declare, sorted.
declared()
{
    awk 'BEGIN { RS = ";" }
        /GORDIAN_API [^#]*\(/ {
            sub(/.*GORDIAN_API /, "")
            if (match($0, /gordian_[a-z0-9_]*\(/))
                print substr($0, RSTART, RLENGTH - 1)
        }' "$include/gordian/gordian.h" "$include/gordian/array.h" "$include/gordian/avoid.h" \
        "$include/gordian/client.h" "$include/gordian/compose.h" "$include/gordian/makespan.h" "$include/gordian/ptx.h" | sort
}

check_symbols()
{
    is_here nm || return 0
    declared >"$work/declared"
    test "$(wc -l <"$work/declared")" -gt 40 || fault "could not read the header's functions"
    nm -D --defined-only "$lib/libgordian.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
        sort >"$work/shared"
    diff -u "$work/declared" "$work/shared" >&2 || fault "libgordian.so exports other functions"
    nm -g --defined-only "$lib/libgordian.a" | awk 'NF == 3 { print $3 }' | sort >"$work/static"
    diff -u "$work/declared" "$work/static" >&2 || fault "libgordian.a exports other functions"
    if is_here readelf; then
        readelf -d "$lib/libgordian.so" | grep -q 'SONAME.*\[libgordian\.so\.0\]' ||
            fault "the soname is not libgordian.so.0"
    fi
}

check_header()
{
    for header in gordian array avoid client compose makespan ptx run; do
        echo "#include <gordian/$header.h>" >"$work/alone.c"
        "$@" -std=c99 -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only "$work/alone.c" ||
            fault "$header.h does not compile alone as C99"
        if is_here c++; then
            cp "$work/alone.c" "$work/alone.cc"
            c++ -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only "$work/alone.cc" ||
                fault "$header.h does not compile alone as C++"
        fi
    done
}

# The pkg-config file as installed, for where it is now; what it requires is looked for as ever.
has_pkg_config=false
if is_here pkg-config; then
    has_pkg_config=true
fi
use_pkg_config()
{
    mkdir -p "$work/pkgconfig"
    sed "s|^prefix=.*|prefix=$root$prefix|" "$lib/pkgconfig/gordian.pc" >"$work/pkgconfig/gordian.pc"
    export PKG_CONFIG_PATH="$work/pkgconfig"
    test "$(pkg-config --modversion gordian)" = "$version" || fault "pkg-config --modversion"
}

# What a program that links the library statically has to link as well.
needed_by_archive()
{
    if $has_pkg_config; then
        pkg-config --static --libs gordian | tr ' ' '\n' | grep -vx -e '-lgordian' -e "-L$lib" |
            tr '\n' ' '
    else
        echo "-lm -ldl"
    fi
}

# check_example NAME COMPILER...
check_example()
{
    name=$1
    shift
    cp "$source/examples/$name.c" "$source/examples/Makefile" "$work"
    expected=$source/examples/$name.expected

    # shellcheck disable=SC2046 # a list of words
    "$@" -pthread -I"$include" -o "$work/static" "$work/$name.c" "$lib/libgordian.a" \
        $(needed_by_archive)
    same "$expected" "$work/static"

    if $has_pkg_config && is_here make; then
        unset MAKEFLAGS MAKELEVEL
        make -s -C "$work" CC="$*" "$name"
    else
        "$@" -pthread -I"$include" -o "$work/$name" "$work/$name.c" -L"$lib" -lgordian
    fi
    same "$expected" env LD_LIBRARY_PATH="$lib" "$work/$name"
}

# An example that needs a service: it must build; the tests of the examples run it.
check_client()
{
    # shellcheck disable=SC2046 # a list of words
    "$@" -pthread -I"$include" -o "$work/lock_client" "$source/examples/lock_client.c" \
        "$lib/libgordian.a" $(needed_by_archive) || fault "lock_client does not build"
}

# The examples of the growable array are CUDA: they must build where there is nvcc; scripts/array-example
# runs them, and the tests of the examples on the emulator.
check_cuda()
{
    is_here nvcc && $has_pkg_config && is_here make || return 0
    mkdir "$work/array"
    cp "$source"/examples/array/* "$work/array"
    unset MAKEFLAGS MAKELEVEL
    make -s -C "$work/array" NVCCFLAGS="-std=c++17 -O1 -arch=sm_80 -Werror all-warnings" ||
        fault "the examples of the growable array do not build"
}

# The kernels' side as clang's CUDA, with CUDA's own words declared: no CUDA is needed for that.
check_clang_cuda()
{
    is_here clang++ || return 0
    cat >"$work/use.cu" <<'END'
#include "cuda_words.h"
#include <gordian/array_device.h>

__global__ void use(struct garray array, uint32_t *marks)
{
    uint32_t *slot = GARRAY_PUSH_BLOCK(uint32_t, &array, threadIdx.x % 2 == 0);
    if (slot)
        *slot = 1;
    if (!GARRAY_PUSH_WARP(uint32_t, &array, 0xffffffff, true))
        return;
    struct garray_part part = garray_resume_whole(&array, marks, 3);
    if (part.count)
        *GARRAY_SLOT(uint32_t, &array, part.first) = *GARRAY_AT(uint32_t, &array, 0);
}
END
    clang++ -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -D__CUDACC__ \
        -Wall -Wextra -Werror -Wno-unknown-cuda-version -O1 -S -I"$source/tests/install" \
        -I"$include" -o "$work/use.ptx" "$work/use.cu" || fault "array_device.h is no CUDA for clang"
}

# A program in C++ that uses a bank, and names a lock.
check_cplusplus()
{
    is_here c++ || return 0
    cat >"$work/bank.cc" <<'END'
#include <gordian/client.h>
#include <gordian/compose.h>
#include <gordian/gordian.h>
#include <gordian/makespan.h>
#include <gordian/ptx.h>
#include <gordian/run.h>

#include <cstdio>
#include <mutex>

int main()
{
    std::mutex lock;
    GORDIAN_NAME_LOCK(&lock, "bank");
    gordian_bank *bank;
    std::uint32_t gpu, jobs[2];
    if (gordian_bank_open(&bank, nullptr, nullptr) != GORDIAN_OK)
        return 1;
    gordian_bank_add_resource(bank, "gpu", 2, &gpu, nullptr);
    gordian_want claim = {2, gpu}, one = {1, gpu};
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    for (std::uint32_t &job : jobs) {
        gordian_bank_add_process(bank, nullptr, &claim, 1, &job, nullptr, nullptr);
        gordian_bank_request(bank, job, &one, 1, &answer, nullptr);
        std::puts(gordian_verdict_text(answer.verdict));
    }
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}
END
    printf 'granted\nunsafe\n' >"$work/bank.expected"
    c++ -std=c++17 -Wall -Wextra -Werror -pthread -I"$include" -o "$work/bank" "$work/bank.cc" \
        -L"$lib" -lgordian || fault "a program in C++ does not build"
    same "$work/bank.expected" env LD_LIBRARY_PATH="$lib" "$work/bank"
}

# A client of the installed library that asks for TLS: it is loaded, and says what is wrong with the file.
check_tls()
{
    cat >"$work/tls.c" <<'END'
#include <gordian/client.h>

#include <stdio.h>

int main(void)
{
    gordian_client *client;
    gordian_client_options options;
    gordian_error error;
    gordian_client_options_init(&options);
    options.tls_ca = "no-such-file";
    gordian_client_open(&client, "tls://127.0.0.1:1", &options, &error);
    puts(error.message);
    return 0;
}
END
    "$@" -I"$include" -o "$work/tls" "$work/tls.c" -L"$lib" -lgordian || fault "tls.c does not build"
    LD_LIBRARY_PATH=$lib "$work/tls" >"$work/told"
    grep -q 'no-such-file' "$work/told" || fault "tls://: $(cat "$work/told")"
    # Linked statically, and called by a name that is no path: the program's folder counts.
    # shellcheck disable=SC2046 # a list of words
    "$@" -pthread -I"$include" -o "$work/static-tls" "$work/tls.c" "$lib/libgordian.a" $(needed_by_archive)
    mkdir -p "$work/gordian"
    cp "$lib/gordian/libgordian-tls.so" "$work/gordian"
    PATH=$work:$PATH static-tls >"$work/told"
    rm -r "$work/gordian"
    grep -q 'no-such-file' "$work/told" || fault "tls://, linked statically: $(cat "$work/told")"
    # Without the module it says what it lacks.
    mv "$lib/gordian/libgordian-tls.so" "$work/away"
    LD_LIBRARY_PATH=$lib "$work/tls" >"$work/told"
    mv "$work/away" "$lib/gordian/libgordian-tls.so"
    grep -q 'needs OpenSSL' "$work/told" || fault "tls:// without its module: $(cat "$work/told")"
}

check_program()
{
    echo "gordian $version" >"$work/version"
    same "$work/version" sh -c "'$root$prefix/bin/gordian' --version | head -n 1"
    # Installed anywhere, the command finds its other programs and its modules.
    "$root$prefix/bin/gordian" info >"$work/info"
    for part in $parts; do
        case $part in
        */gordian-serve)
            "$root$prefix/bin/gordian" serve --help | grep -q -e --socket || fault "gordian serve"
            ;;
        */gordian-watch)
            "$root$prefix/bin/gordian" watch --help | grep -q -e --once || fault "gordian watch"
            ;;
        */gordian-lab)
            "$root$prefix/bin/gordian" bench --list | grep -q '^detect ' || fault "gordian bench"
            ;;
        */libgordian-stacks.so)
            grep -q '^  stacks *available' "$work/info" || fault "$(grep '^  stacks' "$work/info")"
            ;;
        */libgordian-tls.so) check_tls "$@" ;;
        esac
    done
    # The core needs the C library alone.
    if is_here readelf; then
        for file in "$root$prefix/bin/gordian" "$lib/libgordian.so" "$run_library"; do
            test -e "$file" || continue
            readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
                grep -v -e '^libc\.' -e '^libm\.' -e '^ld-linux' -e '^libdl\.' -e '^libpthread\.' &&
                fault "${file##*/} needs more than the C library"
        done
    fi
    # Installed anywhere, the command finds its library.
    if [ -n "$run_library" ]; then
        "$root$prefix/bin/gordian" run --quiet --on-unwatchable=stop -- sh -c 'exit 7' && status=0 ||
            status=$?
        test "$status" -eq 7 || fault "gordian run: exit status $status instead of 7"
    fi
}

DESTDIR=$root meson install -C "$build" --no-rebuild --quiet
check_files
check_symbols
check_header "$@"
if $has_pkg_config; then
    use_pkg_config
fi
for example in accounts circuit lock_manager philosophers pool ptx_string warps; do
    check_example "$example" "$@"
done
check_client "$@"
check_cuda
check_clang_cuda
check_cplusplus
check_program "$@"

echo "$faults faults"
test "$faults" -eq 0
