#!/bin/sh
# The demo: compiles a small C program for ARM64 and runs it on the machine.
#
#   tools/demo.sh build/kvrm
set -eu
kvrm=$1
here=$(dirname "$0")/..
out=$(dirname "$kvrm")/demo
mkdir -p "$out"

echo "Compiling examples/guests/primes.c for ARM64 ..."
aarch64-linux-gnu-gcc -O2 -static "$here/examples/guests/primes.c" -o "$out/primes"
"$kvrm" info
echo
echo "\$ kvrm run --stats $out/primes 2000000"
"$kvrm" run --stats "$out/primes" 2000000
echo
echo "The binary is $kvrm; try: $kvrm run --help"
