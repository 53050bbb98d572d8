# Part of scripts/fuzz.sh (it sources this): which lines of parsers the kept inputs, the tests of robustness and those of the parsers reach. The table
# goes into docs/security.md, too. Uses: folder, jobs, configure.
# RUNNEL_COVERAGE_COMPILER=c++: GCC and gcov instead of Clang and its source coverage. By this name, as the release build calls it, ccache knows
# what that build has compiled: only the parsers are compiled anew, and what shares a unit with them.
build=build-coverage
compiler=${RUNNEL_COVERAGE_COMPILER:-clang++-14} gcc=0
if [[ $("$compiler" --version) == *"Free Software Foundation"* ]]; then gcc=1; fi
programs=(robustness_tests structure_tests npu_mutations_tests many_mutations_tests many_foreign_mutations_tests many_other_mutations_tests
  many_speech_mutations_tests many_npu_mutations_tests fuzz_readers_tests
  base_tests decoding_tests inference_tests npu_reader_tests npu_u85_tests compiler_tests espdl_writer_tests onnx_tests onnx_quantized_tests tflite_models_test pte_tests pte_models_test pipeline_tests pipeline_model_tests live_sources_tests)
if [[ $gcc -eq 1 ]]; then
  build=build-coverage-gcc
  configure "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER="$compiler" -D RUNNEL_COVERAGE=ON -D RUNNEL_BENCH=OFF -D RUNNEL_PYTHON=OFF
else
  configure "$build" -G Ninja -D CMAKE_BUILD_TYPE=RelWithDebInfo -D CMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -D CMAKE_CXX_COMPILER="$compiler" \
    -D RUNNEL_COVERAGE=ON -D RUNNEL_UNITY=ON -D RUNNEL_BENCH=OFF -D RUNNEL_PYTHON=OFF
fi
say "building ${programs[*]} in $build"
cmake --build "$build" --parallel "$jobs" --target "${programs[@]}" >&2
rm -rf "$build/profiles"
mkdir -p "$build/profiles"
find "$build" -name '*.gcda' -delete
failed=0
for program in "${programs[@]}"; do
  path=$(find "$build/tests" -type f -name "$program" | head -n 1)
  binaries+=("$path")
  # Of many mutations a few thousand will do.
  RUNNEL_CORPUS=$folder/corpus RUNNEL_MUTATIONS=${RUNNEL_MUTATIONS:-20000} RUNNEL_MUTATION_SECONDS=${RUNNEL_MUTATION_SECONDS:-60} \
    LLVM_PROFILE_FILE=$build/profiles/$program-%m.profraw "$path" --gtest_filter='-Many*.EveryTruncation*' --gtest_brief=1 >"$build/profiles/$program.log" 2>&1 ||
    { say "$program failed: see $build/profiles/$program.log"; failed=1; }
done
if [[ $gcc -eq 1 ]]; then
  python3 "$root/scripts/fuzz/coverage.py" --gcov "$build" --missed --page "$root/docs/security.md" || failed=1
else
  llvm-profdata-14 merge -o "$build/profiles/all.profdata" "$build"/profiles/*.profraw
  llvm-cov-14 export -summary-only -instr-profile "$build/profiles/all.profdata" "${binaries[0]}" "${binaries[@]/#/-object=}" >"$build/profiles/coverage.json"
  python3 "$root/scripts/fuzz/coverage.py" --llvm "$build/profiles/coverage.json" --page "$root/docs/security.md" || failed=1
fi
exit "$failed"
