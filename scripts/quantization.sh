#!/bin/sh
# Measures the quantizer on the networks of the test data and writes the table into docs/quantization.md. Needs a build with tests (RUNNEL_TESTS) and the
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
"$program" | tee /dev/stderr | grep '^| ' > "$rows"
if [ ! -s "$rows" ]; then
  echo "quantization.sh: nothing was measured; is RUNNEL_TEST_DATA set?" >&2
  exit 1
fi
awk -v rows="$rows" '
  /^<!-- table -->$/ {
    print; inside = 1
    print "| network | target | bits | noise to signal | reference | float right | right | reference right | methods |"
    print "|---|---|---|---|---|---|---|---|---|"
    while ((getline line < rows) > 0) print line
  }
  /^<!-- end of table -->$/ { inside = 0 }
  !inside { print }
' "$page" > "$page.part"
mv "$page.part" "$page"
