#!/bin/sh
# Fetch arm64 Debian packages, with their dependencies, into a sysroot folder.
#
#   tools/arm64_packages.sh [--root DIR] PACKAGE...      (default: build/arm64-sysroot)
#
# The host's dpkg and apt state stay untouched: apt runs with a private configuration, on the
# host's own sources, and `dpkg -x` unpacks the result. Works for root and for ordinary users.
# A package that is already there costs nothing. When the host's mirrors carry no arm64, this
# prints one line and exits 1, so that a caller can skip.
set -eu

usage() { echo "usage: tools/arm64_packages.sh [--root DIR] PACKAGE..." >&2; exit 2; }
fail() { echo "arm64_packages: $*" >&2; exit 1; }

root=$(cd "$(dirname "$0")/.." && pwd)/build/arm64-sysroot
case "${1-}" in
  --root) [ $# -ge 2 ] || usage; root=$2; shift 2 ;;
  -*) usage ;;
esac
[ $# -gt 0 ] || usage

for tool in apt-get dpkg flock; do
  command -v "$tool" >/dev/null || fail "$tool is needed (a Debian or Ubuntu host)"
done

mkdir -p "$root"
root=$(cd "$root" && pwd)
private=$root/.apt
stamps=$root/.packages
mkdir -p "$private/lists/partial" "$private/archives/partial" "$private/sources.list.d" "$stamps"

# One fetch at a time per folder.
exec 9>"$private/lock"
flock 9

missing=""
for package in "$@"; do
  [ -e "$stamps/$package" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

# The host's sources, without their limits to the host's architecture. apt itself ignores
# files that do not end in .list or .sources, and stanzas that say "Enabled: no".
rm -f "$private/sources.list" "$private"/sources.list.d/*
without_arch() {
  sed -E -e '/^[Aa]rchitectures(-[A-Za-z]+)?:/d' -e 's/(\[[^]]*)\barch[+-]?=[^] ]*/\1/' \
    -e 's/\[ *\]//' "$1" >"$2"
}
: >"$private/sources.list"
[ ! -r /etc/apt/sources.list ] || without_arch /etc/apt/sources.list "$private/sources.list"
for file in /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ ! -r "$file" ] || without_arch "$file" "$private/sources.list.d/$(basename "$file")"
done

# apt reads the APT_CONFIG file, then apt.conf.d, then the main file: so the private settings
# are the main file, and the host's settings (proxies, for one) still count.
: >"$private/status"
{
  [ ! -r /etc/apt/apt.conf ] || echo '#include "/etc/apt/apt.conf";'
  cat <<CONFIG
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
Binary::apt::APT::Keep-Downloaded-Packages "true";
Dir::Etc::sourcelist "$private/sources.list";
Dir::Etc::sourceparts "$private/sources.list.d";
Dir::State "$private";
Dir::State::lists "$private/lists";
Dir::State::status "$private/status";
Dir::Cache "$private";
Dir::Cache::archives "$private/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
CONFIG
} >"$private/main.conf"
echo "Dir::Etc::main \"$private/main.conf\";" >"$private/apt.conf"
export APT_CONFIG=$private/apt.conf LC_ALL=C

log=$private/log
: >"$log"
fetch() {
  # shellcheck disable=SC2086  # a list of package names
  apt-get install --yes --download-only $missing >>"$log" 2>&1
}
indexes() { ls "$private"/lists/*binary-arm64_Packages* >/dev/null 2>&1; }

# The lists of an earlier call will do, until a package cannot be had with them.
if ! { indexes && fetch; }; then
  apt-get update >>"$log" 2>&1 || true
  indexes || fail "the host's package sources offer no arm64 packages (see $log)"
  fetch || fail "cannot fetch$missing for arm64 (see $log)"
fi

for deb in "$private"/archives/*.deb; do
  unpacked=$stamps/$(basename "$deb")
  [ -e "$unpacked" ] && continue
  dpkg -x "$deb" "$root" || fail "cannot unpack $deb"
  : >"$unpacked"
done
for package in $missing; do : >"$stamps/$package"; done
