#!/bin/sh
# Arrows between folders point down, and the script that says so notices one that does not.
#
#     layers.sh SOURCE-ROOT BUILD-FOLDER
. "$(dirname "$0")/../shell.sh"
root=$(absolute "$1")
build=$(absolute "$2")
enter_scratch

check 'every arrow points down' "$root/scripts/layers" "$build"

cp -r "$root/src" "$root/scripts" .
mkdir -p docs/internals
cp "$root/docs/internals/design.md" docs/internals

# planted FILE LINE-OF-CODE EXPECTED...: the line put first in the file is complained about there.
planted()
{
    file=$1
    line=$2
    expected=$3
    cp "$file" kept
    { echo "$line" && cat kept; } >"$file"
    ! scripts/layers >/dev/null 2>complaints && grep -F "$file:1: " complaints | grep -qF "$expected"
    result=$?
    mv kept "$file"
    return $result
}

check 'the copy is as good' scripts/layers
check 'an arrow to a higher storey is seen' \
    planted src/foundation/base/error.c '#include "output/show/graph.h"' 'an arrow that points up'
check 'an arrow up within a storey is seen' \
    planted src/engines/rag/rag.c '#include "engines/detect/engine/engine.h"' 'an arrow that points up'
check 'an arrow sideways is seen' \
    planted src/engines/avoid/bank.c '#include "engines/detect/engine/engine.h"' 'an arrow that points sideways'
check 'a command past the public headers is seen' \
    planted src/cli/gen.c '#include "engines/detect/engine/engine.h"' 'cli uses engines/detect through'
check 'a cycle of folders within a folder is seen' \
    planted src/service/serve/system/system.h '#include "service/serve/core/service.h"' 'in a cycle of folders'
check 'a cycle of a folder and one within it is seen' \
    planted src/output/report/symbol/symbol.h '#include "output/report/report.h"' 'in a cycle of folders'

check 'a cycle of the commands and one of them is seen' \
    planted src/cli/base/options.h '#include "cli/makespan/makespan.h"' 'in a cycle of folders'

mkdir src/stray
echo '#include "foundation/base/error.h"' >src/stray/stray.c
missing()
{
    ! scripts/layers >/dev/null 2>complaints && grep -qF 'src/stray/stray.c:1: stray has no layer' complaints
}
check 'a folder without a layer is seen' missing
rm -r src/stray

# A declaration repeated by hand, of a function with the prefix of the public interface.
echo 'int gordian_planted(void); int gordian_planted(void) { return 1; }' >src/engines/rag/planted.c
echo 'int gordian_planted(void); int planted(void); int planted(void) { return gordian_planted(); }' \
    >src/foundation/base/planted.c
mkdir objects
{
    echo 'rule cc'
    echo '  command = cc -c -o $out $in'
    for folder in engines/rag foundation/base; do
        echo "build $(basename $folder).o: cc ../src/$folder/planted.c"
    done
} >objects/build.ninja
by_symbol()
{
    ninja -C objects >/dev/null && ! scripts/layers objects >/dev/null 2>complaints &&
        grep -q '^src/foundation/base/planted.c:1: gordian_planted: an arrow that points up' complaints
}
check 'an arrow up by a symbol alone is seen' by_symbol
rm src/engines/rag/planted.c src/foundation/base/planted.c

sed 's/^    rag  /    gar  /' "$root/docs/internals/design.md" >docs/internals/design.md
redrawn()
{
    ! scripts/layers >/dev/null 2>complaints && grep -q 'docs/internals/design.md:[0-9]*: the picture' complaints
}
check 'another picture is seen' redrawn
check 'the picture is made of the list' sh -c 'scripts/layers --draw && cmp docs/internals/design.md "$1"' sh "$root/docs/internals/design.md"
cp "$root/docs/internals/design.md" docs/internals/design.md
finish
