#!/bin/sh
# The quick part of `make lint` is content, and notices what it is for.
#
#     lint.sh SOURCE-ROOT BUILD-FOLDER
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
root=$(absolute "$1")
build=$(absolute "$2")
enter_scratch

"$root/scripts/lint" --quick "$build" >said 2>&1 || cat said
check 'the quick part is clean' grep -qx 'lint: clean' said

# planted FILE TEXT EXPECTED: in a small tree, a file more with this text is complained about.
# shellcheck disable=SC2317 # `check` calls it
planted()
{
    printf '%b' "$2" >"$1"
    scripts/lint --quick nowhere >said 2>&1
    rm "$1"
    grep -qF "$3" said
}

for name in src/foundation/base tests/shell.sh fuzz examples include scripts docs man web/src web/public web/test web/meson.build \
    web/build README.md CONTRIBUTING.md .clang-format; do
    mkdir -p "$(dirname "$name")"
    cp -r "$root/$name" "$name"
done
check 'an input of the page that is not listed is seen' planted web/src/planted.ts '' 'web/src/planted.ts'
check 'a tab is seen' planted src/foundation/base/planted.c 'int\tx;\n' 'lint: tabs'
check 'a file that is not there is seen' planted src/foundation/base/planted.c '/* see nowhere.c */\n' 'there is no nowhere.c'
long=$(yes 'int x;' | head -n 801 | tr '\n' '@' | sed 's/@/\\n/g')
check 'a long file is seen' planted src/foundation/base/planted.c "$long" 'src/foundation/base/planted.c: 801 lines'
if command -v clang-format >/dev/null; then
    check 'another format is seen' planted src/foundation/base/planted.c 'int  x;\n' 'lint: run make format'
fi
finish
