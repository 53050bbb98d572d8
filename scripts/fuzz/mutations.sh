# Part of scripts/fuzz.sh (it sources this): a number of damaged inputs of each kind under AddressSanitizer and
# UndefinedBehaviorSanitizer, with a table at the end. Uses: wanted, mutations, optimized, folder, jobs, configure.
all=(.rnl .espdl .tflite .pte .onnx recording graph npu)
kinds=("${wanted[@]}")
if [[ ${#kinds[@]} -eq 0 ]]; then kinds=("${all[@]}"); fi

# program_of KIND: the test program, its tests and the files that are meant.
program_of() {
  case $1 in
    .rnl | .espdl | .pte) echo "robustness/many_mutations_tests ManyMutations.EveryOneIsReadOrRefused ${1#.}" ;;
    .tflite) echo "robustness/many_foreign_mutations_tests ManyTfliteMutations.EveryOneIsReadOrRefused tflite" ;;
    .onnx) echo "robustness/many_foreign_mutations_tests ManyOnnxMutations.EveryOneIsReadOrRefused onnx" ;;
    recording) echo "robustness/many_other_mutations_tests ManyRecordingMutations.* ." ;;
    graph) echo "robustness/many_other_mutations_tests ManyGraphMutations.* graph" ;;
    npu) echo "npu/many_npu_mutations_tests ManyNpuMutations.EveryOneIsRefusedOrRun:ManyNpuMutations.EveryOneOfTheU85IsRefusedOrRun ." ;;
    *) die "--kinds $1: expected some of: ${all[*]}" ;;
  esac
}
# A number of the last line of a run (tests/robustness/many_mutations.cpp); 0 when there is none.
number_of() { grep ' mutations, .* with structure' "$1" | sed -n "s/$2/\1/p" | sort -rn | head -n 1 | grep . || echo 0; }

build=build-asan level=-O1
if [[ $optimized -eq 1 ]]; then build=build-asan-O2 level=-O2; fi
programs=()
for kind in "${kinds[@]}"; do
  read -r program _ <<<"$(program_of "$kind")"
  programs+=("${program##*/}")
done
mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sort -u)
[[ ${#programs[@]} -gt 0 && -n ${programs[0]} ]] || exit 1
configure "$build" --preset asan -D CMAKE_CXX_FLAGS_RELWITHDEBINFO="$level -g1 -DNDEBUG"
say "building ${programs[*]} in $build"
cmake --build "$build" --parallel "$jobs" --target "${programs[@]}" >&2
mkdir -p "$folder/mutations"

mutate() {
  local kind=$1 program tests subject log=$folder/mutations/${1#.}.log status=0
  read -r program tests subject <<<"$(program_of "$kind")"
  RUNNEL_MUTATIONS=$mutations RUNNEL_MUTATION_SECONDS=${RUNNEL_MUTATION_SECONDS:-100000000} RUNNEL_MUTATION_SUBJECT=$subject \
    "$build/tests/$program" --gtest_filter="$tests" >"$log" 2>&1 || status=$?
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$kind" "$(number_of "$log" '^\([0-9]*\) mutations.*')" "$(number_of "$log" '.* \([0-9]*\) with structure.*')" \
    "$(number_of "$log" '.* \([0-9]*\) a second.*')" "$(number_of "$log" '.*longest \([0-9.]*\) s.*')" "$(number_of "$log" '.*at most \([0-9]*\) MiB.*')" \
    "$([[ $status -eq 0 ]] && echo nothing || echo "see $log")" >"$folder/mutations/${kind#.}.row"
}
for kind in "${kinds[@]}"; do
  rm -f "$folder/mutations/${kind#.}.row"
  place_for_a_task
  mutate "$kind" &
done
wait
found=0
{
  printf 'kind\tmutations\twith structure\ta second\tlongest s\tpeak MiB\tfound\n'
  for kind in "${kinds[@]}"; do cat "$folder/mutations/${kind#.}.row"; done
} | column -t -s $'\t'
for kind in "${kinds[@]}"; do grep 'nothing$' "$folder/mutations/${kind#.}.row" >/dev/null || found=1; done
exit "$found"
