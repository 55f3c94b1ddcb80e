#!/bin/sh
# Runs tests of the Python package.
#
#     run.sh PYTHON FILE...
set -u
python=$1
shift
if ! "$python" -c 'import pytest' 2>/dev/null; then
    echo 'there is no pytest for it: skipped'
    exit 77
fi
# Only this plugin, whatever is installed here.
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
export PYTEST_DISABLE_PLUGIN_AUTOLOAD
exec "$python" -m pytest -q -p no:cacheprovider -p gordian.pytest_plugin "$@"
