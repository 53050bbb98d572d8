#!/usr/bin/env bash
# arm64_tests.sh ready|build [short]|run [short]|short|all: the tests of what differs by processor on emulated 64-bit Arm, for three processors
# (Cortex-A53: no dot products; Cortex-A76: dot products; QEMU's `max`: products of matrices), and the program beside that of this machine.
#
#   ready   unpacks the libraries for arm64 (scripts/arm64_sysroot.sh); exit code 77, with the reason, where a tool or the network is missing
#   build   cross-builds the program and the tests below into build-aarch64
#   run     runs them, and compares features, logits and events of the emulated program with those of build/runnel, byte by byte
#   short   ready, build and run of the kernels alone, in some minutes: the stage of scripts/test.sh --all
#   all     ready, build and run of everything. Here and in `short`, a missing tool is said and is no failure
#
# Tests that need recordings or oracles are skipped: the release build runs them. RUNNEL_JOBS: programs at a time (default: one per processor).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=$root/build-aarch64
sysroot=$root/build-aarch64-sysroot
processors=(cortex-a53 cortex-a76 max)
# A program of tests, and its tests that take too long in an emulator (GoogleTest's patterns, with colons between them).
tests=("tests/kernels/kernels_tests -")
# What `short` leaves out, with the program: most of the libraries are built for these.
more_tests=(
  "tests/kernels/constant_kernels_tests -"
  "tests/features/features_tests -PresetOracle*"
  "tests/streaming/streaming_tests -"
  "tests/decoding/decoding_tests -"
  "tests/inference/inference_tests -"
)
with_program=1
[[ ${*: -1} != short ]] || with_program=0
[[ $with_program -eq 0 ]] || tests+=("${more_tests[@]}")

ready() {
  local tool
  for tool in qemu-aarch64 aarch64-linux-gnu-g++ cmake ninja; do
    if ! command -v "$tool" >/dev/null; then
      say "SKIPPED: tests on 64-bit Arm: $tool is missing (scripts/install.sh arm)"
      return 77
    fi
  done
  if ! timeout 300 "$root/scripts/arm64_sysroot.sh" "$sysroot"; then
    say "SKIPPED: tests on 64-bit Arm: the libraries for arm64 cannot be fetched"
    return 77
  fi
}

build() {
  local one targets=()
  [[ $with_program -eq 0 ]] || targets+=(runnel_program)
  for one in "${tests[@]}"; do
    one=${one% *}
    targets+=("${one##*/}")
  done
  cd "$root"
  mkdir -p "$build"
  cmake --preset aarch64 -D RUNNEL_TESTS=ON >"$build/configure.log" 2>&1 || {
    cat "$build/configure.log" >&2
    return 1
  }
  cmake --build --preset aarch64 --parallel "$jobs" --target "${targets[@]}"
}

# one_program PROCESSOR PROGRAM FILTER LOG: the tests of one program.
one_program() {
  local status=0
  env -u RUNNEL_TEST_DATA -u RUNNEL_TEST_DATA_REQUIRED GTEST_COLOR=no RUNNEL_CONFIG= RUNNEL_PROGRAM="$build/runnel" \
    qemu-aarch64 -cpu "$1" -L "$sysroot" "$build/$2" --gtest_brief=0 --gtest_filter="$3" >"$4" 2>&1 || status=$?
  # A program without a closing line has crashed, whatever its exit code.
  grep -q '^\[  PASSED  \]' "$4" || status=1
  echo "$status" >"$4.status"
}

# outputs COMMAND... FOLDER: what a program gives for a synthetic sound, as files.
outputs() {
  local folder=${*: -1} preset
  set -- "${@:1:$#-1}"
  mkdir -p "$folder"
  for preset in kaldi80 kaldi-mfcc whisper slaney40 micro-wake-word; do
    "$@" features --preset "$preset" sound.wav --output "$folder/$preset.npy" || return 1
  done
  local front="wav path=sound.wav ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600"
  "$@" run "$front ! infer model=$root/build/models/digits/digits.rnl ! npy path=$folder/logits.npy" >/dev/null || return 1
  "$@" run "$front ! infer model=$root/build/models/digits/digits.rnl ! detect smoothing_frames=3 threshold=0.3 release=0.2 refractory_frames=5 ! jsonl" \
    >"$folder/lines" || return 1
  grep '"type":"event"' "$folder/lines" >"$folder/events.jsonl" || return 1   # the summary has times of this machine
  rm "$folder/lines"
  "$@" check "$root/build/models/digits/digits.rnl" >"$folder/check.json" || return 1
}

# Noise, ramps of several pitches and silence, in int16: the same on every machine.
sound() {
  python3 - "$1" <<'END'
import struct, sys
rate, seconds = 16000, 6
seed, samples = 1, []
for i in range(rate * seconds):
    seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
    noise = (seed >> 16) - 32768
    block = i * 8 // rate
    period = 40 + 23 * (block % 7)
    ramp = (i % period) * 65535 // period - 32768
    loud = (0, 1, 8, 3, 12, 2, 6)[block % 7]
    samples.append((ramp * loud + noise * (1 + block % 3)) // 32)
data = struct.pack("<%dh" % len(samples), *samples)
form = struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16)
with open(sys.argv[1], "wb") as file:
    file.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data)
END
}

# compare FOLDER: what the emulated program gives, beside what the program of this machine gives.
compare() {
  local processor one failed=0 files
  for one in "$root/build/runnel" "$root/build/models/digits/digits.rnl" "$build/runnel"; do
    [[ -f $one ]] || die "$one is missing: build the presets release and aarch64"
  done
  cd "$1"
  sound sound.wav
  outputs "$root/build/runnel" desk || die "the program of this machine failed"
  [[ $(wc -l <desk/events.jsonl) -ge 5 ]] || die "the synthetic sound gives too few events to compare"
  files=$(cd desk && echo *)
  for processor in "${processors[@]}"; do
    if ! outputs qemu-aarch64 -cpu "$processor" -L "$sysroot" "$build/runnel" "$processor" 2>"$processor.said"; then
      tail -n 20 "$processor.said" >&2
      say "FAILED: the program on $processor"
      failed=1
      continue
    fi
    for one in $files; do
      cmp -s "desk/$one" "$processor/$one" || { say "FAILED: $one of $processor has other bytes than that of this machine" && failed=1; }
    done
  done
  [[ $failed -ne 0 ]] || say "the program on ${processors[*]}: the bytes of this machine in $files"
  return "$failed"
}

run() {
  local work processor one log failed=0
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  if [[ $with_program -eq 1 ]]; then (compare "$work") || failed=1; fi
  export build sysroot
  export -f one_program
  for processor in "${processors[@]}"; do
    for one in "${tests[@]}"; do
      log=${one% *}
      printf '%s\0%s\0%s\0%s\0' "$processor" "${one% *}" "${one#* }" "$work/$processor-${log##*/}.log"
    done
  done | xargs -0 -n 4 -P "$jobs" bash -c 'one_program "$@"' one_program
  for log in "$work"/*.log; do
    one=$(basename "$log" .log)
    say "$one: $(grep -E '^\[  PASSED  \]|^\[  SKIPPED \] [0-9]+ test' "$log" | sed 's/^\[ *\([A-Z]*\) *\] /\1 /; s/, listed below://' | paste -sd ' ')"
    if [[ $(cat "$log.status") -ne 0 ]]; then
      say "FAILED: $one"
      grep -E '^\[  FAILED  \]' "$log" >&2 || true
      tail -n 40 "$log" >&2
      failed=1
    fi
  done
  return "$failed"
}

case "$*" in
  ready) ready ;;
  build | "build short") build ;;
  run | "run short") run ;;
  short | all)
    status=0
    ready || status=$?
    [[ $status -ne 77 ]] || exit 0
    [[ $status -eq 0 ]] || exit "$status"
    build && run
    ;;
  *)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    [[ $* == -h || $* == --help ]] || exit 2
    ;;
esac
