#!/usr/bin/env bash
# fuzz.sh [--minutes N | --hours N] [--kinds A,B] [--corpus FOLDER]: fuzzers for longer than the tests have time.
# fuzz.sh --mutations N [--kinds A,B] [--optimized]: N damaged inputs of each kind of file, from fixed seeds, under sanitizers.
# fuzz.sh --coverage [--corpus FOLDER]: lines of parsers that the kept inputs and the tests of robustness reach.
# fuzz.sh --table [--corpus FOLDER]: what all runs with this folder have done; docs/security.md has it, too, after that.
# fuzz.sh --list: the kinds.
#
# The first form builds the preset fuzz and lets each fuzzer run for its share of the time (default: 10 minutes for all), on
# RUNNEL_JOBS processors (default: all), from the inputs in tests/corpus, those of make_corpus, and FOLDER/corpus/KIND, where
# what reaches other code is kept (default: fuzz in the cache folder of the user). At the end corpora are reduced to the
# smallest files that reach the same, and a table is printed. What crashed, hung or took too much memory is in FOLDER/found,
# with the command that repeats it in the table's last lines; the exit code is 1 then.
#
# --mutations: kinds are .rnl .espdl .tflite .pte .onnx recording graph npu; each at most RUNNEL_MUTATION_SECONDS (default: no
#   limit), and RUNNEL_TEST_DATA, if it is set, gives more originals. A run goes on with the seeds after those of the last one of the same kind
#   with this folder. --optimized: with the build of the fuzzers (Clang, -O2, portable kernels) instead of GCC's (-O1, all kernels of this machine).
#   Outputs are kept in FOLDER/mutations, those of findings in FOLDER/found.
# --coverage: Clang's source coverage of the files that tests/fuzz/parsers.txt lists; the exit code is 1 when a file is below its bar.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

minutes=10 form=fuzz wanted=() folder=${XDG_CACHE_HOME:-$HOME/.cache}/runnel/fuzz build=build-fuzz flags=-O2 optimized=0 mutations=0
usage() { die "$1; usage: $name [--minutes N | --hours N | --mutations N | --coverage | --table | --list] [--kinds A,B] [--corpus FOLDER] [--optimized]"; }
number() { [[ ${2:-} =~ ^[1-9][0-9]{0,8}$ ]] || usage "$1 ${2:-nothing}: expected a number from 1 on"; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes) number "$@"; minutes=$2; shift ;;
    --hours) number "$@"; minutes=$((60 * $2)); shift ;;
    --mutations) number "$@"; form=mutations mutations=$2; shift ;;
    --kinds) [[ -n ${2:-} ]] || usage "--kinds: expected names"; IFS=, read -ra wanted <<<"$2"; shift ;;
    --corpus) [[ -n ${2:-} ]] || usage "--corpus: expected a folder"; folder=$2; shift ;;
    --optimized) optimized=1 ;;
    --coverage) form=coverage ;;
    --table) form=table ;;
    --list) form=list ;;
    -h | --help)
      sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) usage "unknown argument \"$1\"" ;;
  esac
  shift
done
[[ $form == table ]] || "$root/scripts/install.sh" build test fuzz
mkdir -p "$folder"
folder=$(cd -- "$folder" && pwd -P)
cd "$root"
if [[ $form == table ]]; then exec python3 "$root/scripts/fuzz/table.py" "$folder" --page docs/security.md; fi

# configure FOLDER ARGUMENTS...: its output only when it fails.
configure() {
  local where=$1 log
  shift
  log=$(mktemp)
  cmake -B "$where" "$@" -D RUNNEL_TESTS=ON ${RUNNEL_TEST_DATA:+-D "RUNNEL_TEST_DATA=$RUNNEL_TEST_DATA"} >"$log" 2>&1 || { cat "$log" >&2; die "$where cannot be configured"; }
  rm -f "$log"
}
# Waits until fewer than `jobs` of the tasks run.
place_for_a_task() { while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do wait -n || true; done; }

if [[ $form == mutations ]]; then source "$root/scripts/fuzz/mutations.sh"; exit; fi
if [[ $form == coverage ]]; then source "$root/scripts/fuzz/coverage.sh"; exit; fi

[[ $optimized -eq 0 ]] || usage "--optimized: only with --mutations, the fuzzers always are"
configure "$build" --preset fuzz
mapfile -t all < <(cat "$build/tests/fuzz/kinds.txt" "$build/tests/fuzz/readers/kinds.txt")
if [[ $form == list ]]; then printf '%s\n' "${all[@]}"; exit; fi
kinds=("${wanted[@]}")
if [[ ${#kinds[@]} -eq 0 ]]; then kinds=("${all[@]}"); fi
for kind in "${kinds[@]}"; do
  printf '%s\n' "${all[@]}" | grep -xF -- "$kind" >/dev/null || die "--kinds $kind: expected some of: ${all[*]}"
done
say "building ${#kinds[@]} fuzzers in $build"
cmake --build "$build" --parallel "$jobs" --target make_corpus reader_corpus "${kinds[@]/%/_fuzzer}" >&2
"$build/tests/fuzz/make_corpus" "$build/corpus" >&2
"$build/tests/fuzz/readers/reader_corpus" "$build/corpus" >&2

share=$((60 * minutes * (jobs < ${#kinds[@]} ? jobs : ${#kinds[@]}) / ${#kinds[@]}))
share=$((share > 0 ? share : 1))
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# A number of libFuzzer's last lines; 0 when there is none.
stat_of() { sed -n "s/^stat::$2: *//p" "$1" | tail -n 1 | grep . || echo 0; }
# Edges and kinds of edges that were reached when all inputs had been read, and at the end.
edges_of() { sed -nE "s/^#[0-9]+[[:space:]]+($2)[[:space:]].*cov: ([0-9]+).*/\\2/p" "$1" | tail -n 1 | grep . || echo 0; }

# run KIND: again after each finding, until its time is over or ten were found.
run() {
  local kind=$1 end=$((SECONDS + share)) left log seeds=() found executions=0 seconds=0 processor=0 before=0 after=0 peak=0 slowest=0 number=0 first
  local fuzzer=$build/tests/fuzz/${kind}_fuzzer corpus=$folder/corpus/$kind
  mkdir -p "$corpus" "$folder/found/$kind" "$results/$kind"
  for first in "tests/corpus/$kind" "$build/corpus/$kind"; do if [[ -d $first ]]; then seeds+=("$first"); fi; done
  found=$(find "$folder/found/$kind" -type f ! -name "slow-unit-*" | wc -l)
  while left=$((end - SECONDS)); [[ $left -gt 0 && $number -lt 10 ]]; do
    log=$results/$kind/log.$number
    local start=$SECONDS
    local TIMEFORMAT='%U %S'
    { time "$fuzzer" -max_total_time="$left" -timeout=20 -rss_limit_mb=4096 -malloc_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
      -artifact_prefix="$folder/found/$kind/" "$corpus" ${seeds[@]+"${seeds[@]}"} >"$log" 2>&1 || cp "$log" "$folder/found/$kind.log"; } 2>"$log.time"
    # Of the processor: other programs may have most of it.
    processor=$(awk -v before="$processor" '{before += $1 + $2} END {printf "%.0f", before}' "$log.time")
    seconds=$((seconds + SECONDS - start))
    executions=$((executions + $(stat_of "$log" number_of_executed_units)))
    if [[ $number -eq 0 ]]; then before=$(edges_of "$log" INITED); fi
    after=$(edges_of "$log" '[A-Za-z]+')
    local now
    now=$(stat_of "$log" peak_rss_mb); peak=$((now > peak ? now : peak))
    now=$(stat_of "$log" slowest_unit_time_sec); slowest=$((now > slowest ? now : slowest))
    number=$((number + 1))
  done
  found=$(($(find "$folder/found/$kind" -type f ! -name 'slow-unit-*' | wc -l) - found))
  # The smallest files that reach the same.
  mkdir -p "$results/$kind/merged"
  if "$fuzzer" -merge=1 -timeout=20 -rss_limit_mb=4096 -max_total_time=$((60 + share / 4)) "$results/$kind/merged" "$corpus" >"$results/$kind/merge" 2>&1 &&
    [[ -n $(ls -A "$results/$kind/merged") ]]; then
    rm -rf "$corpus"
    mv "$results/$kind/merged" "$corpus"
  fi
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$kind" "$executions" $((executions / (processor > 0 ? processor : 1))) \
    "$(find "$corpus" -type f | wc -l)" "$after" $((after > before ? after - before : 0)) "$peak" "$slowest" "$found" >"$results/$kind/row"
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%F)" "$kind" "$flags" "$executions" "$seconds" "$processor" "$peak" "$slowest" "$found" >>"$folder/runs.tsv"
}

say "each kind runs for $share s"
for kind in "${kinds[@]}"; do
  place_for_a_task
  run "$kind" &
done
wait

crashes=0
{
  printf 'kind\texecutions\ta second\tcorpus\tedges\tnew edges\tpeak MiB\tslowest s\tfound\n'
  for kind in "${kinds[@]}"; do
    [[ -f $results/$kind/row ]] || { say "$kind: its run ended without a result"; crashes=1; continue; }
    cat "$results/$kind/row"
  done
} | column -t -s $'\t'
for kind in "${kinds[@]}"; do
  [[ -f $results/$kind/row && $(cut -f9 "$results/$kind/row") -gt 0 ]] || continue
  crashes=1
  while read -r file; do say "found: $build/tests/fuzz/${kind}_fuzzer $file"; done < <(find "$folder/found/$kind" -type f ! -name 'slow-unit-*')
done
exit "$crashes"
