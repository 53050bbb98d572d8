#!/bin/sh
# Measures the quantizer on the networks of the test data and writes the tables into docs/quantization.md. Needs a build with tests (RUNNEL_TESTS) and the
# test data; takes half an hour on two cores. Arguments: the build folder and the parts to measure (an egrep pattern):
# scripts/quantization.sh build '^(1|3)_'. Rows are kept in the build folder, one file per part: after an interruption
# only missing parts run, and parts older than the program that measures them. The page is written when all parts exist.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
only=${2:-.}
missing=
page=$root/docs/quantization.md
rows=$build/quantization
logs=$rows/logs
mkdir -p "$logs"
find_program() {
  program=$(find "$build" -name "$1" -type f | head -n 1)
  if [ -z "$program" ]; then
    echo "quantization.sh: $build has no $1; configure with -D RUNNEL_TESTS=ON and build it" >&2
    exit 1
  fi
}
# measure NAME PROGRAM FILTER: rows of one part, unless they exist. Lines that begin with | are rows of the first table,
# those with ! of the second.
measure() {
  part=$rows/$1 log=$logs/$1
  if ! echo "$1" | grep -Eq "$only"; then
    [ -f "$part" ] || missing="$missing $1"
    return 0
  fi
  if [ "$part" -nt "$2" ] && [ "$part" -nt "$build/runnel" ]; then
    echo "quantization.sh: $1 was measured before" >&2
    return
  fi
  echo "quantization.sh: $1" >&2
  RUNNEL_PROGRAM="$build/runnel" "$2" --gtest_filter="$3" > "$log" || { cat "$log" >&2; echo "quantization.sh: $1 failed" >&2; exit 1; }
  grep '^[|!] ' "$log" > "$log.rows" || { cat "$log" >&2; echo "quantization.sh: $1: nothing was measured; is RUNNEL_TEST_DATA set?" >&2; exit 1; }
  mv "$log.rows" "$part"
}
find_program quantize_accuracy_test
accuracy=$program
find_program apps_quantize_digits_tests
digits=$program
for network in M1 M1s M2 M3 H1; do
  measure "1_8_$network" "$accuracy" "Networks/QuantizedAccuracy.Int8*/$network"
done
for network in M1 M1s M2 M3 H1; do
  measure "2_16_$network" "$accuracy" "Networks/QuantizedAccuracy.Int16*/$network"
done
measure 3_all_M1 "$accuracy" "Networks/AllMethods.*/M1"
# The digits network from its recordings, with the program itself.
measure 4_digits "$digits" "QuantizedDigits.ByDefault*"
measure 5_all_digits "$digits" "QuantizedDigits.WithAllMethods*"
for network in SileroVAD DTLN1 DTLN2 GTCRN openWakeWordembedding; do
  measure "6_$network" "$accuracy" "Networks/PublicNetworks.*/$network"
done
if [ -n "$missing" ]; then
  echo "quantization.sh: $page stays as it is until these are measured too:$missing" >&2
  exit 0
fi
trap 'rm -f "$page.part"' EXIT
cat "$rows"/[1-6]_* > "$logs/all"
awk -v rows="$logs/all" '
  function fill(mark, heading, line) {
    print heading
    gsub(/[^|]+/, "---", heading)
    print heading
    while ((getline line < rows) > 0) {
      if (substr(line, 1, 1) == mark) print "|" substr(line, 2)
    }
    close(rows)
  }
  /^<!-- end of/ { inside = 0 }
  !inside { print }
  /^<!-- table -->$/ { inside = 1; fill("|", "| network | target | bits | noise to signal | reference | float right | right | reference right | methods |") }
  /^<!-- networks of others -->$/ { inside = 1; fill("!", "| network | int8, calibration | int8 | mixed, calibration | mixed | int8 operators | int16 operators | operators that stay float |") }
' "$page" > "$page.part"
mv "$page.part" "$page"
