#!/usr/bin/env bash
# riscv64_tests.sh ready|build|run|program|all: tests of streaming, kernels, decoding and front ends on emulated 64-bit RISC-V, and the
# program beside that of this machine.
#
#   ready    unpacks the libraries for riscv64 (scripts/riscv64_sysroot.sh); exit code 77, with the reason, where a tool or the network is missing
#   build    cross-builds the tests into build-riscv64
#   run      runs them
#   program  cross-builds the program, and compares its features, logits and events with those of build/runnel, byte by byte
#   all      ready, build, run, program; a missing tool is said and is no failure
#
# Tests that need recordings or oracles are skipped: the release build runs them. RUNNEL_JOBS: programs at a time (default: one per processor).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=$root/build-riscv64
sysroot=$root/build-riscv64-sysroot
# Programs of tests, and what takes too long in an emulator (GoogleTest's patterns).
tests=("streaming/streaming_tests -" "kernels/kernels_tests -" "decoding/decoding_tests -PrefixBeam.EqualsBruteForce*" "features/features_tests -PresetOracle*")

ready() {
  local tool
  for tool in qemu-riscv64 riscv64-linux-gnu-g++ cmake ninja; do
    if ! command -v "$tool" >/dev/null; then
      say "SKIPPED: tests on 64-bit RISC-V: $tool is missing (scripts/install.sh riscv)"
      return 77
    fi
  done
  if ! timeout 600 "$root/scripts/riscv64_sysroot.sh" "$sysroot"; then
    say "SKIPPED: tests on 64-bit RISC-V: the libraries for riscv64 cannot be fetched"
    return 77
  fi
}

make_targets() {
  cd "$root"
  cmake --preset riscv64 -D RUNNEL_TESTS=ON >"$root/build-riscv64-configure.log" 2>&1 || {
    cat "$root/build-riscv64-configure.log" >&2
    return 1
  }
  cmake --build --preset riscv64 --parallel "$jobs" --target "$@"
}
build() {
  local one targets=()
  for one in "${tests[@]}"; do
    one=${one% *}
    targets+=("${one##*/}")
  done
  make_targets "${targets[@]}"
}

# one_program PROGRAM FILTER LOG: the tests of one program.
one_program() {
  local status=0
  env -u RUNNEL_TEST_DATA -u RUNNEL_TEST_DATA_REQUIRED GTEST_COLOR=no RUNNEL_CONFIG= \
    qemu-riscv64 -L "$sysroot" "$build/tests/$1" --gtest_brief=0 --gtest_filter="$2" >"$3" 2>&1 || status=$?
  # A program without a closing line has crashed, whatever its exit code.
  grep -q '^\[  PASSED  \]' "$3" || status=1
  echo "$status" >"$3.status"
}

temporary() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
}
run() {
  local one log failed=0
  temporary
  export build sysroot
  export -f one_program
  for one in "${tests[@]}"; do
    log=${one% *}
    printf '%s\0%s\0%s\0' "${one% *}" "${one#* }" "$work/${log##*/}.log"
  done | xargs -0 -n 3 -P "$jobs" bash -c 'one_program "$@"' one_program
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

# outputs FOLDER COMMAND...: what a program gives for a synthetic sound, as files.
outputs() {
  local folder=$1 preset model=$root/build/models/digits/digits.rnl
  shift
  mkdir -p "$folder"
  for preset in kaldi80 kaldi-mfcc whisper slaney40 micro-wake-word; do
    "$@" features --preset "$preset" sound.wav --output "$folder/$preset.npy" || return 1
  done
  "$@" run "wav path=sound.wav ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=$model ! npy path=$folder/logits.npy" >/dev/null || return 1
  "$@" check "$model" >"$folder/check.json"
}
program() {
  local one failed=0
  [[ -f $root/build/runnel && -f $root/build/models/digits/digits.rnl ]] || die "$root/build/runnel or its digits model is missing: build the preset release"
  make_targets runnel_program || return 1
  temporary
  cd "$work"
  python3 - <<'SOUND'
import struct, wave
seed, samples = 1, []
for i in range(6 * 16000):
    seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
    block = i * 8 // 16000
    period = 40 + 23 * (block % 7)
    samples.append(((i % period) * 65535 // period - 32768) * (0, 1, 8, 3, 12, 2, 6)[block % 7] // 32 + ((seed >> 16) - 32768) * (1 + block % 3) // 32)
with wave.open("sound.wav", "wb") as file:
    file.setparams((1, 2, 16000, 0, "NONE", ""))
    file.writeframes(struct.pack("<%dh" % len(samples), *samples))
SOUND
  outputs desk "$root/build/runnel" || die "the program of this machine failed"
  outputs board qemu-riscv64 -L "$sysroot" "$build/runnel" || die "the emulated program failed"
  for one in desk/*; do
    cmp -s "$one" "board/${one#desk/}" || { say "FAILED: ${one#desk/} has other bytes than that of this machine" && failed=1; }
  done
  [[ $failed -ne 0 ]] || say "the program: the bytes of this machine in $(cd desk && echo *)"
  return "$failed"
}

case "$*" in
  ready | build | run | program) "$1" ;;
  all)
    status=0
    ready || status=$?
    [[ $status -ne 77 ]] || exit 0
    [[ $status -eq 0 ]] || exit "$status"
    build && (run) && (program)
    ;;
  *)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    [[ $* == -h || $* == --help ]] || exit 2
    ;;
esac
