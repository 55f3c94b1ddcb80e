#!/bin/sh
# hung_python.py as a program: by the system's Python, or by $GORDIAN_TEST_PYTHON.
exec "${GORDIAN_TEST_PYTHON:-/usr/bin/python3}" "$(dirname "$0")/hung_python.py" "$@"
