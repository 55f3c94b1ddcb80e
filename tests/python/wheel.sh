#!/bin/sh
# Makes a wheel, installs it into a fresh environment, and runs the tests on what is installed there:
# no network, and no compiler to be found.
#
#     wheel.sh PYTHON SOURCE LIBRARY GORDIAN
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
python=$1
source=$(absolute "$2")
library=$(absolute "$3")
gordian=$(absolute "$4")
enter_scratch
if ! "$python" -c 'import ensurepip, pytest'; then
    echo 'there is no venv or no pytest for it: skipped'
    exit 77
fi
unset GORDIAN_LIBRARY PYTHONPATH LD_LIBRARY_PATH
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

"$python" "$source/python/wheel.py" "$library" one >log || { cat log >&2; exit 1; }
"$python" "$source/python/wheel.py" "$library" two >>log
wheel=$(ls one/*.whl)
check 'the same bytes twice' cmp "$wheel" "two/$(basename "$wheel")"

# Bringing pip along takes longer than the rest, and need not be where there is one.
without_pip=
if "$python" -c 'import pip' 2>/dev/null; then
    without_pip=--without-pip
fi
check 'a fresh environment' "$python" -m venv --system-site-packages $without_pip there
mkdir nothing
# The environment's Python, and no command to be found: no compiler, too.
isolated()
{
    PATH="$scratch/nothing" "$scratch/there/bin/python" "$@"
}

check 'pip installs it' isolated -m pip install --quiet --no-index --no-deps "$wheel"
check 'it carries its library' isolated -c '
import gordian, os
from gordian import _library
folder = os.path.dirname(gordian.__file__)
assert folder.startswith(os.path.realpath("there")), folder
gordian.version()
assert _library.lib._library._name == os.path.join(folder, "libgordian.so.0")
'
# All of them on the package as it stands in the tree: here, unless the run is a long one, those that call the
# library most. pytest finds the plugin by itself here.
tests=$source/tests/python
[ "${GORDIAN_TEST_SCALE:-100}" -ge 100 ] || tests=$source/tests/python/test_core.py
GORDIAN=$gordian GORDIAN_ROOT=$source GORDIAN_TEST_SCALE=10
export GORDIAN GORDIAN_ROOT GORDIAN_TEST_SCALE
check 'the tests pass on it' isolated -m pytest -q -p no:cacheprovider --gordian-timeout 600 \
    --ignore "$source/tests/python/test_plugin.py" "$tests"
check 'pip removes it' isolated -m pip uninstall --quiet --yes gordian
finish
