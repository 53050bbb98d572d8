#!/usr/bin/env bash
# build_test.sh: scripts/fuzz_build.sh builds two small fuzzers with a compiler, flags and folders of the environment, as OSS-Fuzz calls it; both
# run, from the seeds in their archives. Exit code 77, with the reason: a tool is missing.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
for tool in clang++-14 cmake ninja python3; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is missing: scripts/install.sh build test fuzz"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sanitized="-O1 -gline-tables-only -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"
env SRC="$root" WORK="$work/work" OUT="$work/out" CC=clang-14 CXX=clang++-14 CFLAGS="$sanitized" CXXFLAGS="$sanitized" \
  LIB_FUZZING_ENGINE=-fsanitize=fuzzer RUNNEL_JOBS="${RUNNEL_JOBS:-2}" bash "$root/scripts/fuzz_build.sh" grammar settings
failed=0
for kind in grammar settings; do
  for file in "${kind}_fuzzer" "${kind}_fuzzer_seed_corpus.zip" "${kind}_fuzzer.options" "${kind}_fuzzer.dict"; do
    [[ -s $work/out/$file ]] || { echo "$file is missing or empty"; failed=1; }
  done
  mkdir -p "$work/seeds/$kind"
  python3 -m zipfile -e "$work/out/${kind}_fuzzer_seed_corpus.zip" "$work/seeds/$kind"
  seeds=$(find "$work/seeds/$kind" -type f | wc -l)
  [[ $seeds -ge 1 ]] || { echo "$kind has no seeds"; failed=1; }
  "$work/out/${kind}_fuzzer" -runs=2000 -seed=1 -dict="$work/out/${kind}_fuzzer.dict" -artifact_prefix="$work/" -print_final_stats=1 "$work/seeds/$kind" \
    >"$work/$kind.log" 2>&1 || { tail -20 "$work/$kind.log"; failed=1; }
  # Instrumented: what the flags of the environment asked for.
  covered=$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$work/$kind.log" | tail -1)
  [[ ${covered:-0} -gt 50 ]] || { echo "$kind covers ${covered:-nothing}: it was built without the flags"; failed=1; }
done
exit "$failed"
