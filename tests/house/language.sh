#!/bin/sh
# scripts/language accepts the files in its list, and finds planted phrases and wide lines.
#
#     language.sh SOURCE-ROOT
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
root=$(absolute "$1")
enter_scratch

check 'the files in its list are clean' "$root/scripts/language"

# planted FILE TEXT EXPECTED: the file with this text is reported with these words.
# shellcheck disable=SC2317 # `check` calls it
planted()
{
    printf '%b' "$2" >"$1"
    ! "$root/scripts/language" "$1" >/dev/null 2>reported && grep -qF "$3" reported
}

# accepted FILE TEXT: the file with this text is clean.
# shellcheck disable=SC2317 # `check` calls it
accepted()
{
    printf '%b' "$2" >"$1"
    "$root/scripts/language" "$1" >reported 2>&1
}

wide=$(yes word | head -n 25 | tr '\n' ' ')
check 'a phrase is found, with its line' planted a.md 'One.\n\nIt tells all.\n' "a.md:3: 'tells': write report"
check 'a phrase that begins a sentence is found' planted a.md 'Whoever waits sleeps.\n' "'Whoever': write name"
check 'a phrase across two lines is found' planted a.md 'They wait so\nlong.\n' "a.md:1: 'so long'"
check 'so long as is accepted' accepted a.md 'It waits so long as it must, and so many that it stops.\n'
check 'a wide line is found' planted a.md "$wide\n" 'a.md:1: 125 columns; 100 is the limit'
check 'code and tables may be wide' accepted a.md "\`\`\`\n$wide\n\`\`\`\n\n| $wide |\n"
check 'so may a link by itself' accepted a.md "[1 ms](https://example.org/$(yes w | head -n 90 | tr -d '\n') \"a b\")\n"
check 'code may contain phrases' accepted a.md "The \`tell\` command.\n\n\`\`\`\nnobody\n\`\`\`\n"
check 'a phrase in a manual page is found' planted a.1 '.Sh NAME\nIt is beside the lock.\n' "a.1:2: 'beside'"
check 'literal text of a manual page is accepted' accepted a.1 '.Bd -literal\nnobody\n.Ed\n.Dl tell\n'
check 'a phrase in a comment is found' planted a.c 'int x; /* nobody\n waits */\n' "a.c:1: 'nobody'"
check 'a phrase in a message is found' planted a.c 'fail("nobody waits");\n' "a.c:1: 'nobody'"
check 'a name in code is accepted' accepted a.c 'int nobody;\n'
check 'a phrase in a comment of a script is found' planted a.sh '# told so\n' "a.sh:1: 'told'"
finish
