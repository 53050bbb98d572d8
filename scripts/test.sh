#!/usr/bin/env bash
# test.sh [--all]: installs what is missing, builds, and runs the tests; exit code 0 only when everything passed.
#
#   test.sh        release build, device build with its symbol check, every test that is not labelled `long`
#   test.sh --all  after these: the tests labelled `threads` under ThreadSanitizer, the short run of scripts/arm64_tests.sh on emulated
#                  64-bit Arm, what reads foreign bytes under AddressSanitizer and UndefinedBehaviorSanitizer, the long tests, the other
#                  tests under AddressSanitizer (the long test of many mutations for a minute only), each libFuzzer program for
#                  RUNNEL_FUZZ_RUNS inputs from a fixed seed (default: 10,000), but at most RUNNEL_FUZZ_SECONDS (default: its share of
#                  90 s; scripts/fuzz.sh runs them for longer)
#
# Tests labelled `fuzz` feed damaged input of every kind, from fixed seeds, and are part of every run. A failed stage
# does not stop the next one. The last output of a successful run are CTest's closing lines for the release build.
# RUNNEL_TIME_LIMIT: maximum seconds of the run (default: no limit), whose builds of release and device are made in any case. What does not fit in this order is
# cut off or left out, and named at the end, which is not a failure; what had failed before a cut is. The stages before the long tests
# leave them RUNNEL_LONG_TIME seconds (default: 900). A machine that builds slowly begins no build that would be cut off.
# RUNNEL_JOBS sets the number of jobs (default: one per processor), RUNNEL_TEST_DATA the folder of test data. With
# RUNNEL_ONCE_MORE_ALONE=1 up to three tests that failed beside others run once more by themselves; those that pass then are named as
# UNSTEADY and fail nothing.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/stages.sh"

all=0
case "$*" in
  "") ;;
  --all) all=1 ;;
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) die "unknown arguments \"$*\"; usage: $name [--all]" ;;
esac

purposes=(build python test bench firmware)
if [[ $all -eq 1 ]]; then purposes+=(fuzz arm scale browser gstreamer pipewire nats package root site torch); fi
"$root/scripts/install.sh" "${purposes[@]}"
cd "$root"

# build PRESET [TARGETS]: configures and builds; quick when nothing changed.
build() {
  local preset=$1
  shift
  local data=()
  if [[ $preset != device ]]; then
    data=(-D RUNNEL_TESTS=ON)
    if [[ -n ${RUNNEL_TEST_DATA:-} ]]; then data+=(-D "RUNNEL_TEST_DATA=$RUNNEL_TEST_DATA"); fi
    if [[ $preset == release ]]; then data+=(-D RUNNEL_BENCH=ON); fi
    # What was installed for these must be found: otherwise their tests would be missing without a word.
    if [[ $preset == release && $all -eq 1 ]]; then data+=(-D RUNNEL_GSTREAMER=ON -D RUNNEL_PIPEWIRE=ON -D RUNNEL_NATS=ON); fi
  fi
  local log
  rm -f "$(dirname -- "$(log_of "$preset")")/failed_tests.log"
  log=$(mktemp)
  if ! cmake --preset "$preset" ${data[@]+"${data[@]}"} >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
  log=$(log_of "$preset")
  cmake --build --preset "$preset" --parallel "$jobs" "$@" 2>&1 | tee "$log"
}
# The file that keeps the output of the last build of a preset.
log_of() {
  local folder=build-$1
  if [[ $1 == release ]]; then folder=build; fi
  echo "$folder/last_build.log"
}
# The first errors of the last build of a preset and its failed tests, repeated at the end of a long log.
excerpt() {
  local log
  log=$(log_of "$1")
  if [[ -f $(dirname -- "$log")/failed_tests.log ]]; then head -n 400 "$(dirname -- "$log")/failed_tests.log" >&2; fi
  if [[ ! -f $log ]] || ! grep -q '^FAILED: ' "$log"; then return; fi
  say "the first errors of $log:"
  grep -A12 '^FAILED: ' "$log" | cut -c1-400 | head -n 40 >&2
}
# run_tests PRESET [SELECTION]...: what it printed is kept in last_tests.log of the build folder.
run_tests() {
  local preset=$1 status=0
  shift
  ctest --preset "$preset" --parallel "$jobs" "$@" | tee "$(dirname -- "$(log_of "$preset")")/last_tests.log" || status=$?
  if [[ $status -ne 0 ]]; then
    keep_failures "$preset"
    if [[ -n ${RUNNEL_ONCE_MORE_ALONE:-} ]]; then once_more_alone "$preset" && status=0; fi
  fi
  return "$status"
}
# A few tests that failed beside others run once more by themselves. Those that pass then have a fault, which is
# named with its output, but say nothing about the program.
once_more_alone() {
  local preset=$1 folder list again test
  folder=$(dirname -- "$(log_of "$preset")")
  list=$folder/Testing/Temporary/LastTestsFailed.log
  [[ -f $list && $(wc -l <"$list") -le 3 ]] || return 1
  mapfile -t again < <(cut -d: -f2- "$list")
  say "once more, alone: ${again[*]}"
  ctest --preset "$preset" --parallel 1 --rerun-failed || return 1
  for test in "${again[@]}"; do say "UNSTEADY: $test ($preset) failed beside other tests and passed alone; its first output is above"; done
}
# The last lines of each test that failed in the last run of a preset are kept for the end of a long log, where they are looked for.
keep_failures() {
  local folder test
  folder=$(dirname -- "$(log_of "$1")")
  [[ -f $folder/Testing/Temporary/LastTestsFailed.log ]] || return 0
  while IFS=: read -r _ test; do
    echo "--- $1: $test"
    awk -v start=" Testing: $test" 'index($0, start) && substr($0, index($0, start)) == start {on = 1} on {print} on && /^<end of output>/ {exit}' \
      "$folder/Testing/Temporary/LastTest.log" | tail -n 40 | cut -c1-400
  done <"$folder/Testing/Temporary/LastTestsFailed.log" >>"$folder/failed_tests.log"
}
# fuzz KIND: a short run of one fuzzer over its valid inputs, those kept in tests/corpus, and what it makes of them. A crash leaves
# its input in the build folder, and the way to it in the log.
fuzz() {
  local kind=$1 kept=()
  if [[ -d tests/corpus/$kind ]]; then kept=("tests/corpus/$kind"); fi
  mkdir -p "build-fuzz/corpus/$kind" build-fuzz/found
  "build-fuzz/tests/fuzz/${kind}_fuzzer" -seed=1 -runs="${RUNNEL_FUZZ_RUNS:-10000}" -max_total_time="${RUNNEL_FUZZ_SECONDS:-$fuzz_share}" -timeout=20 -rss_limit_mb=4096 -max_len=65536 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="build-fuzz/found/$kind-" "build-fuzz/corpus/$kind" ${kept[@]+"${kept[@]}"}
}
# Reports of libraries that are not built with ThreadSanitizer are left out by the list, each with its reason.
under_tsan() { TSAN_OPTIONS="suppressions=$root/tests/threads.supp history_size=4${TSAN_OPTIONS:+ $TSAN_OPTIONS}" run_tests tsan -L '^threads$' -LE '^native$'; }
many_mutations() { RUNNEL_MUTATION_SECONDS="${RUNNEL_MUTATION_SECONDS:-60}" run_tests "$@"; }
labelled() { ctest --preset release -N -L "^$1\$" 2>/dev/null | sed -n 's/^Total Tests: //p'; }
# CTest's line of the last tests of the release build, for the end of a long log.
closing=()
close_release() { mapfile -t -O "${#closing[@]}" closing < <(grep ' tests passed, ' build/last_tests.log); }
# tests_of_release NAME SELECTION...: some of them, in the time that is left. A cut does not hide those that had failed.
tests_of_release() {
  local what=$1 status=0 passed
  shift
  limited "$what" run_tests release "$@" || status=$?
  case $status in
    0) close_release ;;
    143)
      passed=$(grep -c ' Passed ' build/last_tests.log) || true
      say "$what: $passed had passed when they were cut off"
      if grep -E '\*\*\*(Failed|Timeout|Exception)' build/last_tests.log >&2; then failed+=("$what"); fi
      ;;
  esac
}

# Nothing else works without this build.
build_began=$SECONDS
stage "building release" build release || exit 1
building=$((SECONDS - build_began))
if stage "building the device libraries" build device; then
  stage "checking the symbols of the device libraries" scripts/check_device_symbols.sh build-device || true
fi
what="testing release"
if [[ $all -eq 1 ]]; then what+=": all but the long tests"; fi
tests_of_release "$what" -LE '^long$'

if [[ $all -eq 1 ]]; then
  kept=${RUNNEL_LONG_TIME:-900}
  # The build with ThreadSanitizer makes two thirds of what the release build makes.
  needed=$((building * 2 / 3 + 60))
  if [[ $(labelled threads) -gt 0 ]]; then
    if limited "building with ThreadSanitizer" build tsan --target thread_tests; then
      needed=30
      limited "testing with ThreadSanitizer" under_tsan || true
    fi
  else
    say "no test is labelled threads: nothing to run under ThreadSanitizer"
  fi
  # Says SKIPPED where the libraries for arm64 cannot be had.
  needed=$((building / 4 + 60))
  limited "testing on emulated 64-bit Arm" scripts/arm64_tests.sh short || true
  # What reads bytes from outside comes first: where time is short, the rest is left out.
  needed=$((building / 2 + 60))
  if limited "building what reads foreign bytes with AddressSanitizer" build asan --target robustness_tests; then
    needed=30
    limited "testing with AddressSanitizer: foreign bytes" run_tests asan -L '^fuzz$' -LE '^long$' || true
  fi
  kept=0
  needed=60
  # The engines were installed above: without them the corpus test would prove less than it claims.
  export RUNNEL_NEEDS_ENGINES=1
  tests_of_release "testing release: the long tests" -L '^long$' -LE '^compiles$'
  tests_of_release "testing release: what compiles for other machines and installations" -L '^compiles$'
  needed=$((building * 2 / 3 + 60))
  if limited "building with AddressSanitizer" build asan; then
    needed=30
    limited "testing with AddressSanitizer" run_tests asan -LE '^(long|native)$' || true
    limited "many mutations with AddressSanitizer" many_mutations asan -R '^Many(Speech)?Mutations' || true
  fi
  needed=$((building / 2 + 60))
  if limited "building the fuzzers" build fuzz &&
    stage "making valid inputs for the fuzzers" build-fuzz/tests/fuzz/make_corpus build-fuzz/corpus; then
    needed=30
    # All that the build has (tests/fuzz/CMakeLists.txt writes the list).
    mapfile -t kinds <build-fuzz/tests/fuzz/kinds.txt
    fuzz_share=$((90 / ${#kinds[@]} > 0 ? 90 / ${#kinds[@]} : 1))
    for kind in "${kinds[@]}"; do limited "fuzzing: $kind" fuzz "$kind" || true; done
  fi
fi

for what in ${left_out[@]+"${left_out[@]}"}; do say "LEFT OUT for want of time: $what"; done
if [[ ${#failed[@]} -gt 0 ]]; then
  for preset in release device asan tsan fuzz; do excerpt "$preset" || true; done
  for what in "${failed[@]}"; do say "FAILED: $what"; done
  exit 1
fi
printf '%s\n' "${closing[@]}"
