#!/bin/sh
# Installs by package name what is missing on a Debian or Ubuntu machine, as root or with sudo.
#
#   tools/setup.sh build|test|bench|package
set -eu

build="cmake ninja-build clang-19 llvm-19-dev libzstd-dev zlib1g-dev python3 libfmt-dev libcli11-dev nlohmann-json3-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross make"
test="$build g++ g++-aarch64-linux-gnu libclang-rt-19-dev clang-format-19 libgtest-dev qemu-user gcc-12-source dpkg libopenmpi-dev openmpi-bin python3-dev python3-venv"
package="$build dpkg-dev file python3-dev python3-venv mmdebstrap"
bench="$build gcc g++-aarch64-linux-gnu qemu-user dpkg"

case "${1:-}" in
  build) wanted=$build ;;
  test) wanted=$test ;;
  bench) wanted=$bench ;;
  package) wanted=$package ;;
  *) echo "setup.sh: say what for: build, test, bench or package" >&2; exit 2 ;;
esac

missing=""
for package in $wanted; do
  state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  case "$state" in *"install ok installed") ;; *) missing="$missing $package" ;; esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup.sh: this is no Debian or Ubuntu machine; please install:$missing" >&2
  exit 1
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: not root and no sudo; please have installed:$missing" >&2
    exit 1
  fi
  as_root="sudo"
fi
echo "Installing:$missing"
$as_root apt-get update -qq || echo "setup.sh: apt-get update failed; trying with the lists as they are" >&2
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
