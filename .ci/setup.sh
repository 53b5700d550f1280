#!/bin/sh
# Finds a Python of 3.11 or newer and hands over to setup.py, which does the rest. Options go through.
here=$(cd "$(dirname "$0")" && pwd)
for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        exec "$name" "$here/setup.py" "$@"
    fi
done
echo "setup: no Python 3.11 or newer among python3, python3.11 ... python3.14." >&2
echo "setup: install one (Debian, Ubuntu: apt-get install python3 python3-venv), or name it: make setup PYTHON=/path/to/python3" >&2
exit 1
