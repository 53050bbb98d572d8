#!/bin/sh
# Measures the quantizer on the networks of the test data and writes the tables into docs/quantization.md. Needs a build with tests (RUNNEL_TESTS) and the
# test data; takes minutes. The build folder may be given: scripts/quantization.sh build
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build}
page=$root/docs/quantization.md
program=$(find "$build" -name quantize_accuracy_test -type f | head -n 1)
if [ -z "$program" ]; then
  echo "quantization.sh: $build has no quantize_accuracy_test; configure with -D RUNNEL_TESTS=ON and build it" >&2
  exit 1
fi
rows=$(mktemp)
trap 'rm -f "$rows" "$page.part"' EXIT
# Lines that begin with | are rows of the first table, those with ! of the second.
"$program" | tee /dev/stderr | grep '^[|!] ' > "$rows"
# The digits network from its recordings, with the program itself.
digits=$(find "$build" -name apps_quantize_digits_tests -type f | head -n 1)
if [ -n "$digits" ]; then RUNNEL_PROGRAM="$build/runnel" "$digits" | tee /dev/stderr | grep '^| ' >> "$rows"; fi
if [ ! -s "$rows" ]; then
  echo "quantization.sh: nothing was measured; is RUNNEL_TEST_DATA set?" >&2
  exit 1
fi
awk -v rows="$rows" '
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
