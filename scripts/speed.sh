#!/usr/bin/env bash
# Measures the speed of inference on one core and on two, and writes docs/speed.md. Options go to the benchmark, e.g. --seconds 60.
# ONNX Runtime takes part when the build found its header and RUNNEL_BENCH_ORT and RUNNEL_BENCH_ORT_MODELS name its shared library
# and a folder with its models; the float networks below RUNNEL_TEST_DATA need the former alone. RUNNEL_BENCH_CORE: the core to run on (default: 1 where there are several).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=${RUNNEL_BUILD:-$root/build}
core=${RUNNEL_BENCH_CORE:-$(($(nproc) > 1 ? 1 : 0))}
for program in inference_bench threads_bench speed_table; do
  [[ -x $build/bench/$program ]] || die "$build/bench/$program is missing: configure with -D RUNNEL_BENCH=ON and build first"
done
digits=()
if [[ -f $build/models/digits/digits.rnl ]]; then digits=(--digits "$build/models/digits/digits.rnl"); fi
models=()
data=${RUNNEL_TEST_DATA:-$root/../shared/data}
while IFS= read -r model; do models+=("$model"); done < <(find "$data/espdl/models/esp32p4" -name 'pedestrian_detect*.espdl' 2>/dev/null)
taskset -c "$core" "$build/bench/inference_bench" "${digits[@]}" "$@" > "$build/speed.json"
"$build/bench/threads_bench" ${models[@]+"${models[@]}"} > "$build/threads.json"
floats=()
if [[ -x $build/bench/float_bench && -n ${RUNNEL_BENCH_ORT:-} && -d $data/models ]]; then
  taskset -c "$core" "$build/bench/float_bench" --data "$data" > "$build/floats.json"
  floats=("$build/floats.json")
fi
"$build/bench/speed_table" "$build/speed.json" "$build/threads.json" ${floats[@]+"${floats[@]}"} > "$root/docs/speed.md.part"
mv "$root/docs/speed.md.part" "$root/docs/speed.md"
