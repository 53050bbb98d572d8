# Shared by the scripts that run tests in an emulator of another processor (source it behind common.sh). The script sets before:
#
#   machine           what messages call it, for example "64-bit Arm"
#   architecture      of QEMU and of the script that unpacks the libraries, for example aarch64
#   sysroot_script    that script; sysroot: its folder
#   compiler, purpose of scripts/install.sh
#   preset, build     of the cross build, and its folder
#   processors        QEMU's names
#   tests             programs of tests below `build`, each with the tests that take too long in an emulator (GoogleTest's patterns,
#                     with colons between them; "-" for none)
#   with_program      1: the program is built and compared, too
#   also              may be left out: "PROCESSOR PROGRAM PATTERNS" of more processors for single programs of `tests`
#   check_build       may be left out: a function that fails, and says why, where the build is not the one to run

# Exit code 77, with the reason, where a tool or the network is missing.
ready() {
  local tool
  for tool in "qemu-$architecture" "$compiler" cmake ninja; do
    if ! command -v "$tool" >/dev/null; then
      say "SKIPPED: tests on $machine: $tool is missing (scripts/install.sh $purpose)"
      return 77
    fi
  done
  if ! timeout 600 "$root/scripts/$sysroot_script" "$sysroot"; then
    say "SKIPPED: tests on $machine: its libraries cannot be fetched"
    return 77
  fi
}

build_all() {
  local one targets=()
  [[ $with_program -eq 0 ]] || targets+=(runnel_program)
  for one in "${tests[@]}"; do
    one=${one% *}
    targets+=("${one##*/}")
  done
  cd "$root"
  mkdir -p "$build"
  cmake --preset "$preset" -D RUNNEL_TESTS=ON >"$build/configure.log" 2>&1 || {
    cat "$build/configure.log" >&2
    return 1
  }
  cmake --build --preset "$preset" --parallel "$jobs" --target "${targets[@]}"
}

# one_program PROCESSOR PROGRAM FILTER LOG: the tests of one program.
one_program() {
  local status=0 started=$SECONDS
  env -u RUNNEL_TEST_DATA -u RUNNEL_TEST_DATA_REQUIRED GTEST_COLOR=no RUNNEL_CONFIG= RUNNEL_PROGRAM="$build/runnel" \
    "qemu-$architecture" -cpu "$1" -L "$sysroot" "$build/$2" --gtest_brief=0 --gtest_filter="$3" >"$4" 2>&1 || status=$?
  # A program without a closing line has crashed, whatever its exit code.
  grep -q '^\[  PASSED  \]' "$4" || status=1
  echo "$status $((SECONDS - started))" >"$4.status"
}

# outputs COMMAND... FOLDER: what a program gives for sound.wav (see `sound`) and for recordings, as files.
outputs() {
  local folder=${*: -1} preset
  set -- "${@:1:$#-1}"
  mkdir -p "$folder"
  for preset in kaldi80 kaldi-mfcc whisper slaney40 micro-wake-word; do
    "$@" features --preset "$preset" sound.wav --output "$folder/$preset.npy" || return 1
  done
  local front="wav path=sound.wav ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600" digits=$root/build/models/digits/digits.rnl
  "$@" run "$front ! infer model=$digits ! npy path=$folder/logits.npy" >/dev/null || return 1
  "$@" run "$front ! infer model=$digits ! detect smoothing_frames=3 threshold=0.1 release=0.05 refractory_frames=5 ! jsonl" >"$folder/lines" || return 1
  grep '"type":"event"' "$folder/lines" >"$folder/events.jsonl" || return 1   # the summary has times of this machine
  rm "$folder/lines"
  "$@" check "$digits" >"$folder/check.json" || return 1
  # The recordings of the tests: connected words of one that lies beside them, and decisions over a folder where the data is there.
  "$@" listen "$root/build/models/commands/commands.rnl" --wav "$root/tests/models/commands.wav" >"$folder/lines" || return 1
  grep -v '"type":"summary"' "$folder/lines" >"$folder/commands.jsonl" || return 1
  rm "$folder/lines"
  [[ -d ${RUNNEL_TEST_DATA:-}/digits/eval_wav ]] || return 0
  "$@" batch "$digits" "$RUNNEL_TEST_DATA/digits/eval_wav" --no-timing --jobs 1 --output "$folder/recordings.jsonl" >/dev/null || return 1
  rm -f "$folder/recordings.jsonl.journal"
}

# sound FILE: noise, ramps of several pitches and silence, in int16: the same on every machine.
sound() {
  python3 - "$1" <<'SOUND'
import struct, sys, wave
seed, samples = 1, []
for i in range(6 * 16000):
    seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
    noise = (seed >> 16) - 32768
    block = i * 8 // 16000
    period = 40 + 23 * (block % 7)
    ramp = (i % period) * 65535 // period - 32768
    loud = (0, 1, 8, 3, 12, 2, 6)[block % 7]
    samples.append((ramp * loud + noise * (1 + block % 3)) // 32)
with wave.open(sys.argv[1], "wb") as file:
    file.setparams((1, 2, 16000, 0, "NONE", ""))
    file.writeframes(struct.pack("<%dh" % len(samples), *samples))
SOUND
}

# compare FOLDER: what the emulated program gives, beside what the program of this machine gives.
compare() {
  local processor one failed=0 files
  for one in "$root/build/runnel" "$root"/build/models/{digits/digits,commands/commands}.rnl "$build/runnel"; do
    [[ -f $one ]] || die "$one is missing: build the presets release and $preset"
  done
  cd "$1"
  sound sound.wav
  outputs "$root/build/runnel" desk || die "the program of this machine failed"
  [[ $(wc -l <desk/events.jsonl) -ge 5 && $(wc -l <desk/commands.jsonl) -ge 1 ]] || die "the sounds give too few events to compare"
  files=$(cd desk && echo *)
  for processor in "${processors[@]}"; do
    if ! outputs "qemu-$architecture" -cpu "$processor" -L "$sysroot" "$build/runnel" "$processor" 2>"$processor.said"; then
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

run_all() {
  local work processor program filter one log failed=0
  if declare -F check_build >/dev/null; then check_build || return 1; fi
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  if [[ $with_program -eq 1 ]]; then (compare "$work") || failed=1; fi
  export build sysroot architecture
  export -f one_program
  {
    for processor in "${processors[@]}"; do
      for one in "${tests[@]}"; do echo "$processor $one"; done
    done
    for one in ${also[@]+"${also[@]}"}; do echo "$one"; done
  } | while read -r processor program filter; do
    printf '%s\0%s\0%s\0%s\0' "$processor" "$program" "$filter" "$work/$processor-${program##*/}.log"
  done | xargs -0 -n 4 -P "$jobs" bash -c 'one_program "$@"' one_program
  for log in "$work"/*.log; do
    one=$(basename "$log" .log)
    local status=1 seconds=0
    read -r status seconds <"$log.status" || true   # none: it was ended from outside
    say "$one: $(grep -E '^\[  PASSED  \]|^\[  SKIPPED \] [0-9]+ test' "$log" | sed 's/^\[ *\([A-Z]*\) *\] /\1 /; s/, listed below://' | paste -sd ' ') in $seconds s"
    if [[ $status -ne 0 ]]; then
      say "FAILED: $one"
      grep -E '^\[  FAILED  \]' "$log" >&2 || true
      tail -n 40 "$log" >&2
      failed=1
    fi
  done
  return "$failed"
}

# One that is called by test.sh: what is missing is said and is no failure.
ready_build_run() {
  local status=0
  ready || status=$?
  [[ $status -ne 77 ]] || return 0
  [[ $status -eq 0 ]] || return "$status"
  build_all && run_all
}

# What a script of this kind does with its words; `short` and `all` differ in what the script has put into `tests` and `with_program`.
do_what() {
  case "$*" in
    ready) ready ;;
    build | "build short") build_all ;;
    run | "run short") run_all ;;
    short | all) ready_build_run ;;
    *)
      sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "$0" >&2
      [[ $* == -h || $* == --help ]] || exit 2
      ;;
  esac
}
