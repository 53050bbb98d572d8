#!/usr/bin/env bash
# conformance.sh [-o PAGE]: runs every recorded .espdl file of the test data with the release build and writes the
# results (default: docs/conformance.md). Exit code 0 only when nothing failed. RUNNEL_TEST_DATA: the folder of test
# data.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

page=$root/docs/conformance.md
case ${1:-} in
  "") ;;
  -o) page=${2:?-o needs a file} ;;
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) die "unknown argument \"$1\"; usage: $name [-o PAGE]" ;;
esac

"$root/scripts/install.sh" build test bench
data=${RUNNEL_TEST_DATA:-$root/../shared/data}
[[ -d $data/conformance ]] || die "no test data in $data; RUNNEL_TEST_DATA names the folder that has conformance/ and espdl/"
cd "$root"
cmake --preset release -D RUNNEL_TESTS=ON >/dev/null
cmake --build --preset release --parallel "$jobs" --target espdl_conformance_test conformance_page >&2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
RUNNEL_TEST_DATA=$data RUNNEL_TEST_DATA_REQUIRED=1 RUNNEL_CONFORMANCE_OUT=$work/records build/tests/compiler/espdl_conformance_test --gtest_brief=1 >&2 || passed=1
build/tests/compiler/conformance_page "$work/records" >"$work/page" || passed=1
# An empty page proves nothing.
[[ -s $work/page ]] || die "the run left no records"
mv "$work/page" "$page"
say "$page: $(grep -c '^| .*espdl ' "$page") files"
exit "$passed"
