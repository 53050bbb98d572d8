#!/usr/bin/env bash
# speed.sh [--features] [OPTION...]: measures the speed of inference on one core and on two, and of the front ends, and
# writes docs/speed.md; --features: only its last sections, on front ends. Options go to the benchmark, e.g. --seconds 60.
# ONNX Runtime takes part when the build found its header and RUNNEL_BENCH_ORT and RUNNEL_BENCH_ORT_MODELS name its
# shared library and a folder with its models; the float networks in RUNNEL_TEST_DATA need only the former.
# RUNNEL_BENCH_CORE: the core to run on (default: 1 where there are several). RUNNEL_SPEED_PAGE: another page to write
# than docs/speed.md: docs/speed-avx512.md for a machine without AMX, docs/speed-avx2.md for one without AVX-512. Boards take part when
# scripts/firmware_tests.sh has built their images.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=${RUNNEL_BUILD:-$root/build}
core=${RUNNEL_BENCH_CORE:-$(($(nproc) > 1 ? 1 : 0))}
data=${RUNNEL_TEST_DATA:-$root/../shared/data}
page=${RUNNEL_SPEED_PAGE:-$root/docs/speed.md}

# The sections of the front ends, on stdout.
feature_sections() {
  taskset -c "$core" "$build/bench/features_bench" "$@"
  if [[ -x $build/tests/firmware/firmware_tests && -d $build/firmware ]]; then
    cat <<END

### On microcontrollers

Instructions (not cycles) that QEMU counts, gcc -O2 (the float loops -O3); the same in every run. 10 ms a frame: 100 frames a second. *bytes*: of memory, tables
included unless the compiler makes them (microfrontend-40). From \`scripts/firmware_tests.sh\`.

| case | board | instructions a frame | million a second | million to prepare | bytes |
|---|---|---:|---:|---:|---:|
END
    RUNNEL_FIRMWARE=$build/firmware RUNNEL_TEST_DATA=$data "$build/tests/firmware/firmware_tests" --gtest_filter=Firmware.InstructionsPerFrame | grep '^| '
  fi
}
if [[ ${1:-} == --features ]]; then
  shift
  {
    sed '/^## Features$/,$d' "$page" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'   # and the empty lines before it
    echo
    feature_sections "$@"
  } > "$page.part"
  mv "$page.part" "$page"
  exit 0
fi
for program in inference_bench threads_bench speed_table features_bench; do
  [[ -x $build/bench/$program ]] || die "$build/bench/$program is missing: configure with -D RUNNEL_BENCH=ON and build first"
done
digits=()
if [[ -f $build/models/digits/digits.rnl ]]; then digits=(--digits "$build/models/digits/digits.rnl"); fi
models=()
while IFS= read -r model; do models+=("$model"); done < <(find "$data/espdl/models/esp32p4" -name 'pedestrian_detect*.espdl' 2>/dev/null)
taskset -c "$core" "$build/bench/inference_bench" "${digits[@]}" "$@" > "$build/speed.json"
"$build/bench/threads_bench" "${digits[@]}" ${models[@]+"${models[@]}"} > "$build/threads.json"
floats=()
if [[ -x $build/bench/float_bench && -n ${RUNNEL_BENCH_ORT:-} && -d $data/models ]]; then
  taskset -c "$core" "$build/bench/float_bench" --data "$data" > "$build/floats.json"
  floats=("$build/floats.json")
fi
{
  "$build/bench/speed_table" "$build/speed.json" "$build/threads.json" ${floats[@]+"${floats[@]}"}
  echo
  feature_sections
} > "$page.part"
mv "$page.part" "$page"
