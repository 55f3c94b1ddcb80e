#!/bin/sh
# scripts/messages lists the texts that the program prints, with their places, and comments.
#
#     messages.sh SOURCE-ROOT
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
root=$(absolute "$1")
enter_scratch

cat >a.c <<'END'
/* Counts the waiters. */
int count(void)
{
    json_key_text(json, "two words", name);
    run_query("SELECT id FROM waits WHERE id = 1");
    return fail(error, 2, "no such lock: "
                          "name one of %u locks", count);
}
const struct option options[] = {{"all", 'a', NULL, "show every event", OPTION_FLAG, &all}};
END

# listed EXPECTED ARGUMENT...: the output is exactly this.
# shellcheck disable=SC2317 # `check` calls it
listed()
{
    printf '%b' "$1" >expected
    shift
    "$root/scripts/messages" "$@" >reported && cmp -s expected reported
}

check 'messages and help are listed, keys and SQL are not' listed \
    'a.c:6: fail: no such lock: name one of %u locks\na.c:9: show every event\n' a.c
check 'comments are listed' listed 'a.c:1: Counts the waiters.\n' --comments a.c
check 'a sample has as many lines as wanted' sh -c \
    '[ "$("$1" --sample 1 --seed 2 a.c | wc -l)" -eq 1 ]' - "$root/scripts/messages"
finish
