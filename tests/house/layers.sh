#!/bin/sh
# Arrows between folders point down, and the script that says so notices one that does not.
#
#     layers.sh SOURCE-ROOT BUILD-FOLDER
. "$(dirname "$0")/../shell.sh"
root=$(absolute "$1")
build=$(absolute "$2")
enter_scratch

check 'every arrow points down' "$root/scripts/layers" "$build"

cp -r "$root/src" "$root/bench" "$root/scripts" .
mkdir docs
cp "$root/docs/design.md" docs

# planted FILE LINE-OF-CODE EXPECTED...: the line put first in the file is complained about there.
planted()
{
    file=$1
    line=$2
    expected=$3
    cp "$file" kept
    { echo "$line" && cat kept; } >"$file"
    ! scripts/layers >/dev/null 2>complaints && grep -qF "$file:1: $expected" complaints
    result=$?
    mv kept "$file"
    return $result
}

check 'the copy is as good' scripts/layers
check 'an arrow up is seen' \
    planted src/rag/rag.c '#include "detect/engine.h"' '#include "detect/engine.h": an arrow that points up'
check 'an arrow sideways is seen' \
    planted src/avoid/bank.c '#include "detect/engine.h"' '#include "detect/engine.h": an arrow that points sideways'
check 'a command past the public headers is seen' \
    planted src/cli/gen.c '#include "detect/engine.h"' '#include "detect/engine.h": cli uses detect through'
check 'a circle within a folder is seen' \
    planted src/serve/served/served.h '#include "serve/service/service.h"' 'serve/served is in a circle'

mkdir src/stray
echo '#include "base/error.h"' >src/stray/stray.c
missing()
{
    ! scripts/layers >/dev/null 2>complaints && grep -qF 'src/stray/stray.c:1: stray has no layer' complaints
}
check 'a folder without a layer is seen' missing
rm -r src/stray

sed 's/^rag ranks  /ranks rag  /' "$root/docs/design.md" >docs/design.md
redrawn()
{
    ! scripts/layers >/dev/null 2>complaints && grep -q 'docs/design.md:[0-9]*: draws' complaints
}
check 'another drawing is seen' redrawn
finish
