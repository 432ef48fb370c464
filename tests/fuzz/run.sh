#!/bin/sh
# Fuzz the machine under the address and undefined behavior sanitizers.
#
#   tests/fuzz/run.sh SECONDS [TARGET...]      (targets: words elf calls lanes; default: all, the time shared equally)
#
# Builds into build-fuzz (KVRM_FUZZ_BUILD), keeps the growing corpora there, and starts from them, the seeds and
# tests/fuzz/regressions. A finding ends its target with the input's path; when it is fixed, keep the input in
# tests/fuzz/regressions/TARGET, where the tests replay it for ever. Exits 1 if something was found.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${KVRM_FUZZ_BUILD:-$root/build-fuzz}
jobs=${JOBS:-$(nproc)}

case "${1-}" in
  '' | *[!0-9]*) echo "usage: tests/fuzz/run.sh SECONDS [words|elf|calls|lanes]..." >&2; exit 2 ;;
esac
seconds=$1
shift
[ $# -gt 0 ] || set -- words elf calls lanes
share=$((seconds / $#))
[ "$share" -gt 0 ] || share=1

command -v clang++-19 >/dev/null ||
  { echo "run.sh: clang++-19 is needed (packages clang-19 libclang-rt-19-dev)" >&2; exit 1; }
mkdir -p "$build"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g" -DKVRM_SANITIZE=fuzzer-no-link,address,undefined \
  -DKVRM_BUILD_FUZZERS=ON -DKVRM_BUILD_TESTS=ON -DKVRM_BUILD_CLI=OFF >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log" >&2; exit 1; }
for target in "$@"; do cmake --build "$build" -j "$jobs" --target "fuzz_$target"; done

status=0
for target in "$@"; do
  work=$build/fuzz/$target
  mkdir -p "$work/corpus" "$work/findings"
  seeds=$build/tests/fuzz/seeds
  echo "fuzz_$target: $share s"
  # -rss_limit_mb is what a run may use, sanitizers included; -timeout turns a hang into a finding.
  if ! "$build/tests/fuzz/fuzz_$target" -max_total_time="$share" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -dict="$seeds/$target.dict" -artifact_prefix="$work/findings/" -verbosity=1 \
    "$work/corpus" "$seeds/$target" "$here/regressions/$target" >"$work/log" 2>&1; then
    echo "fuzz_$target: FOUND SOMETHING:" >&2
    grep -E 'broken promise|ERROR:|runtime error|Test unit written' "$work/log" >&2 || tail -20 "$work/log" >&2
    status=1
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
  echo "fuzz_$target: ${runs:-?} runs, $(ls "$work/corpus" | wc -l) inputs in the corpus, log in $work/log"
done
exit $status
