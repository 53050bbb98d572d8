#!/usr/bin/env bash
# feature_accuracy.sh [BUILD_FOLDER]: prints the accuracy table of docs/features.md: errors of presets against double
# precision, and those of the single-precision library that made the stored matrices. RUNNEL_TEST_DATA: the folder of
# test data.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

tests=${1:-$root/build}/tests/features/features_tests
[[ -x $tests ]] || die "$tests is not there; build the target features_tests first"
[[ -n ${RUNNEL_TEST_DATA:-} ]] || die "RUNNEL_TEST_DATA is not set"
xml=$(mktemp)
trap 'rm -f "$xml"' EXIT
"$tests" --gtest_filter='PresetOracle.IsAs*' --gtest_output="xml:$xml" >&2
echo '| stored matrices | runnel, largest | 99.9 % | their library, largest | 99.9 % |'
echo '|---|---|---|---|---|'
sed -n 's/.*<property name="\([^"]*\)" value="\([^"]*\)".*/| `\1` | \2 |/p' "$xml"
