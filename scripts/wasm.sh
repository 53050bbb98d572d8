#!/usr/bin/env bash
# wasm.sh [STAGE...]: makes the digits model for WebAssembly (docs/wasm.md) and compares it with this machine, byte by byte: features, outputs and
# events over a recording. Stages, by default package, node and browser:
#
#   package   `runnel embed --build-system wasm` and its build; prints the sizes, also compressed
#   node      the package in Node.js: the bytes of the desk, no growth of memory
#   browser   the page in headless Chromium: a dropped file, and the microphone (Chromium's fake device plays the recording)
#   kernels   the tests of the integer kernels and of the float front end in Node.js, vectors against the plain loops
#   bench     seconds of sound in a second, in Node.js and in Chromium
#
# RUNNEL_BUILD: a release build (default: build). RUNNEL_WASM_WORK: the folder of all that is made (default: a temporary one). RUNNEL_RECORDING: 16 kHz, 16 bits (default: the
# first of the test data, RUNNEL_TEST_DATA). RUNNEL_DECISION: instead of the model's own, for the stage package alone. RUNNEL_PICTURE: a .png file for the page in the browser stage. Ends with 77 when a tool is missing (scripts/install.sh wasm).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=$(realpath -- "${RUNNEL_BUILD:-$root/build}")
runnel=${RUNNEL_PROGRAM:-$build/runnel}
model=${RUNNEL_MODEL:-$build/models/digits/digits.rnl}
recording=${RUNNEL_RECORDING:-${RUNNEL_TEST_DATA:-}/digits/stitched_90s.wav}
tests=$root/tests/bridges/wasm
stages=("$@")
if [[ ${#stages[@]} -eq 0 ]]; then stages=(package node browser); fi

skip() {
  say "SKIPPED WITHOUT $1: scripts/install.sh $2"
  exit 77
}
command -v em++ >/dev/null || skip EMSCRIPTEN wasm
command -v node >/dev/null || skip NODE wasm
[[ -x $runnel && -f $model ]] || die "$runnel and $model: build first"
[[ -f $recording ]] || { say "SKIPPED WITHOUT A RECORDING: RUNNEL_RECORDING, with spoken digits, or RUNNEL_TEST_DATA"; exit 77; }
work=${RUNNEL_WASM_WORK:-}
if [[ -z $work ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
work=$(realpath -- "$work")
export NODE_PATH=/usr/share/nodejs       # of emscripten's own scripts, where node is not Debian's
unset EM_CACHE                           # Debian's is complete

package() {
  rm -f "$work/desk.events"  # of another model, maybe
  "$runnel" embed "$model" -o "$work/digits" --name digits --build-system wasm --runnel "$root" ${RUNNEL_DECISION:+--decision "$RUNNEL_DECISION"}
  cmake -S "$work/digits" -B "$work/build" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$root/cmake/wasm32-emscripten.cmake" >"$work/configure.log" 2>&1 ||
    { tail -n 40 "$work/configure.log" >&2; die "digits cannot be configured"; }
  cmake --build "$work/build" --parallel "$jobs" >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; die "digits cannot be built"; }
  node "$tests/sizes.mjs" "$work/build/package" 409600
}
# What this machine makes of the recording.
desk() {
  if [[ -f $work/desk.events ]]; then return; fi
  local graph front_end decision
  graph=$(grep -v '^ *#' "$root/models/digits/digits.rnlg" | tr '\n' ' ')
  front_end=${graph%% ! infer*}
  decision=${graph#* ! infer}
  decision=${decision#*! }
  "$runnel" run "wav path='$recording' ! $front_end name=features ! infer model='$model' name=output ! $decision ! jsonl path='$work/desk.events.part'
                 features. ! npy path='$work/desk.features.npy'  output. ! npy path='$work/desk.output.npy'" >/dev/null
  mv "$work/desk.events.part" "$work/desk.events"
}
node_stage() {
  desk
  node "$tests/compare.mjs" "$work/build/package" "$recording" "$work/desk"
}
needs_browser() {
  browser=$(command -v chromium || command -v chromium-browser) || skip CHROMIUM browser
  /usr/bin/python3 -c "import websocket" 2>/dev/null || skip "PYTHON'S WEBSOCKET" browser
}
browser_stage() {
  needs_browser
  desk
  timeout 240 /usr/bin/python3 "$tests/browser.py" compare "$browser" "$work/build/digits.html" "$recording" "$work/desk" "$work/profile" ${RUNNEL_PICTURE:+"$RUNNEL_PICTURE"}
}
bench() {
  needs_browser
  node "$tests/bench.mjs" "$work/build/package" "$recording"
  timeout 240 /usr/bin/python3 "$tests/browser.py" bench "$browser" "$work/build/digits.html" "$recording" "$work/profile_bench"
}
kernels() {
  cmake -S "$tests/kernels" -B "$work/kernels" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$root/cmake/wasm32-emscripten.cmake" >"$work/configure.log" 2>&1 ||
    { tail -n 40 "$work/configure.log" >&2; die "the tests of the kernels cannot be configured"; }
  cmake --build "$work/kernels" --parallel "$jobs" >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; die "the tests of the kernels cannot be built"; }
  node --no-experimental-fetch "$work/kernels/wasm_kernels_tests.js" >"$work/kernels.log" || { tail -n 40 "$work/kernels.log" >&2; die "kernels differ"; }
  say "kernels: $(tail -n 1 "$work/kernels.log")"
}
for stage in "${stages[@]}"; do
  case $stage in
    package | bench | kernels) "$stage" ;;
    node | browser) "${stage}_stage" ;;
    *) die "unknown stage \"$stage\"; expected package, node, browser, kernels or bench" ;;
  esac
done
