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
unset GORDIAN_LIBRARY PYTHONPATH
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

"$python" "$source/python/wheel.py" "$library" one >log || { cat log >&2; exit 1; }
"$python" "$source/python/wheel.py" "$library" two >>log
wheel=$(ls one/*.whl)
check 'the same bytes twice' cmp "$wheel" "two/$(basename "$wheel")"

check 'a fresh environment' "$python" -m venv --system-site-packages there
mkdir bin
ln -s "$scratch/there/bin/python" bin/python
export PATH="$scratch/bin"
check 'pip installs it' python -m pip install --quiet --no-index --no-deps "$wheel"
check 'it carries its library' python -c '
import gordian, os
from gordian import _library
assert gordian.__file__.startswith(os.path.abspath("there")), gordian.__file__
gordian.version()
assert _library.lib._library._name == os.path.join(os.path.dirname(gordian.__file__), "libgordian.so.0")
'
GORDIAN=$gordian GORDIAN_ROOT=$source
export GORDIAN GORDIAN_ROOT
# pytest finds the plugin by itself here.
check 'the tests pass on it' python -m pytest -q -p no:cacheprovider "$source/tests/python" \
    --ignore "$source/tests/python/test_client.py" --ignore "$source/tests/python/test_plugin.py"
check 'pip removes it' python -m pip uninstall --quiet --yes gordian
finish
