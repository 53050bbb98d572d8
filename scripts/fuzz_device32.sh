#!/usr/bin/env bash
# fuzz_device32.sh [SECONDS]: what firmware reads (model files, saved sessions, command streams, images of models) as a 32-bit build with
# AddressSanitizer and UndefinedBehaviorSanitizer, each kind fuzzed for SECONDS (default: 60) from its seeds and from tests/corpus.
# Sizes and pointers have 32 bits there, as on microcontrollers: products and sums of sizes wrap where they do on devices.
#
# The libraries for 32 bits are unpacked into build-i386-sysroot (scripts/i386_sysroot.sh). Findings are kept in build-fuzz32/found, and the
# exit code is 1. Exit code 77, with the reason: a tool or the network is missing. Needs the packages `build` and `fuzz`.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || { say "$seconds: expected a number of seconds"; exit 2; }
cd "$root"

for tool in clang++-14 cmake ninja flatc; do
  command -v "$tool" >/dev/null || { say "SKIPPED: $tool is missing: scripts/install.sh build fuzz"; exit 77; }
done
scripts/i386_sysroot.sh || { say "SKIPPED: there are no libraries for 32 bits"; exit 77; }
mkdir -p build-fuzz32
cmake --preset fuzz32 >build-fuzz32/build.log 2>&1 || { cat build-fuzz32/build.log; die "it cannot be configured"; }
cmake --build --preset fuzz32 -j "$jobs" >build-fuzz32/build.log 2>&1 || { tail -40 build-fuzz32/build.log; die "it cannot be built"; }

found=$root/build-fuzz32/found corpus=$root/build-fuzz32/corpus
mkdir -p "$found" "$corpus"
build-fuzz32/tests/fuzz/device/reader_corpus "$corpus"
failed=()
printf '%-14s %12s %10s %8s %10s\n' kind executions a-second covered peak-MB
for fuzzer in build-fuzz32/tests/fuzz/*_fuzzer; do
  kind=$(basename "${fuzzer%_fuzzer}")
  # Models and streams that the fuzzers of 64 bits keep are seeds here, too.
  also=$kind
  case $kind in device_model) also=model ;; npu_stream) also=npu ;; esac
  kept=()
  for one in tests/corpus/"$kind" tests/corpus/"$also"; do if [[ -d $one && ! " ${kept[*]-} " == *" $one "* ]]; then kept+=("$one"); fi; done
  log=build-fuzz32/$kind.log
  if ! "$fuzzer" -max_total_time="$seconds" -seed=1 -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$found/$kind-" "$corpus/$kind" ${kept[@]+"${kept[@]}"} >"$log" 2>&1; then
    tail -30 "$log" >&2
    failed+=("$kind")
  fi
  stat() { sed -n "s/^stat::$1: *//p" "$log"; }
  printf '%-14s %12s %10s %8s %10s\n' "$kind" "$(stat number_of_executed_units)" "$(stat average_exec_per_sec)" \
    "$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$log" | tail -1)" "$(stat peak_rss_mb)"
done
[[ ${#failed[@]} -eq 0 ]] || die "found something in ${failed[*]}: the inputs are in $found"
