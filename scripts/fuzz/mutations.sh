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
    recording) echo "robustness/many_other_mutations_tests ManyRecordingMutations.*" ;;
    graph) echo "robustness/many_other_mutations_tests ManyGraphMutations.* graph" ;;
    npu) echo "npu/many_npu_mutations_tests ManyNpuMutations.EveryOneIsRefusedOrRun:ManyNpuMutations.EveryOneOfTheU85IsRefusedOrRun" ;;
    *) die "--kinds $1: expected some of: ${all[*]}" ;;
  esac
}

# Optimised ones are those of the fuzzers: Clang, -O2, portable kernels, and most of it is built where the fuzzers are. Else GCC's, -O1, with all
# kernels of this machine.
build=build-asan preset=asan
if [[ $optimized -eq 1 ]]; then build=build-fuzz preset=fuzz; fi
programs=()
for kind in "${kinds[@]}"; do
  read -r program _ <<<"$(program_of "$kind")"
  programs+=("${program##*/}")
done
mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sort -u)
[[ ${#programs[@]} -gt 0 && -n ${programs[0]} ]] || exit 1
configure "$build" --preset "$preset"
say "building ${programs[*]} in $build"
cmake --build "$build" --parallel "$jobs" --target "${programs[@]}" >&2
mkdir -p "$folder/mutations" "$folder/found"

mutate() {
  local kind=$1 program tests subject log=$folder/mutations/${1#.}.log
  read -r program tests subject <<<"$(program_of "$kind")"
  # Of each allocation a short way to it, and few that are kept after their end (what is used after that is used at once here): what is found comes
  # again from its seed, and can be looked at then. A fifth more mutations a second.
  # A run begins where the last one of this kind with this folder ended.
  ASAN_OPTIONS=malloc_context_size=1:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:hard_rss_limit_mb=4096${ASAN_OPTIONS:+:$ASAN_OPTIONS} \
    RUNNEL_MUTATION_BATCH=1 RUNNEL_MUTATIONS=$mutations RUNNEL_MUTATION_SECONDS=${RUNNEL_MUTATION_SECONDS:-100000000} RUNNEL_MUTATION_SUBJECT=$subject \
    RUNNEL_MUTATION_SEED=$(python3 "$root/scripts/fuzz/table.py" --next-seed "$kind" "$folder") \
    "$build/tests/$program" --gtest_filter="$tests" >"$log" 2>&1 || cp "$log" "$(mktemp "$folder/found/mutations-${kind#.}-XXXX.log")"
  python3 "$root/scripts/fuzz/table.py" --note "$log" "$kind" "$preset" "$folder"
}
count_found() { find "$folder/found" -name 'mutations-*.log' | wc -l; }
before=$(count_found)
for kind in "${kinds[@]}"; do
  place_for_a_task
  mutate "$kind" &
done
wait
python3 "$root/scripts/fuzz/table.py" "$folder"
if [[ $(count_found) -gt $before ]]; then
  say "found: see $folder/found/mutations-*.log"
  exit 1
fi
exit 0
