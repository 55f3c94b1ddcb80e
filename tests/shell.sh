# What the shell tests share; to be sourced, after paths given as arguments were made absolute:
#
#     . "$(dirname "$0")/../shell.sh"
#
# Makes an empty folder, $work, goes there, and removes it in the end. check counts; a test ends with
#
#     finish
LC_ALL=C.UTF-8
export LC_ALL
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
ulimit -c 0
failed=0
passed=0

# check WHAT COMMAND...: does it succeed? Shows what it said if not, and the file stderr if there is one.
check()
{
    what=$1
    shift
    if "$@" >check.out 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $what"
        sed 's/^/    /' check.out
        [ ! -e stderr ] || sed 's/^/    /' stderr
    fi
}

finish()
{
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
    exit
}
