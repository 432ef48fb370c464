#!/bin/sh
# Makes a virtual environment with what the Python package and its tests need, and installs by package name what is missing there.
#
#   tools/python_packages.sh FOLDER
set -eu

wanted="nanobind scikit-build-core numpy pytest"
venv=${1:?python_packages.sh: say where}

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# shellcheck disable=SC2086
if ! "$venv/bin/python" -c 'import nanobind, numpy, pytest, scikit_build_core' 2>/dev/null; then
  echo "Installing into $venv: $wanted"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check $wanted
fi
