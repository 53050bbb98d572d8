#!/usr/bin/env bash
# firmware_systems.sh [BUILD]: what `runnel embed --build-system ...` writes is built by stand-ins of ESP-IDF, Zephyr, Arduino and Mbed OS
# (tests/firmware/stand_ins), with the example for the microphone, and run in QEMU: with a recording as the microphone, each prints
# the decisions of this machine. BUILD (default: build) is a release build. RUNNEL_SYSTEMS: only these;
# RUNNEL_PARTITION_SYSTEMS: those that have the model in a partition as well (default: none).
# Ends with 77 when a compiler, QEMU or the test data are missing.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/firmware/boards.sh"
build=$(realpath -- "${1:-$root/build}")
for board in mps2-an386 virt-rv32imafc; do
  missing=$(missing_for "$board")
  [[ -z $missing ]] || { say "SKIPPED WITHOUT ${missing//$'\n'/, }: scripts/install.sh firmware"; exit 77; }
done
words=${RUNNEL_TEST_DATA:-}/digits/stitched_90s.wav
[[ -f $words ]] || { say "SKIPPED WITHOUT DATA: RUNNEL_TEST_DATA is not set"; exit 77; }
runnel=$build/runnel model=$build/models/digits/digits.rnl
[[ -x $runnel && -f $model ]] || die "$runnel or $model is missing: build first"
stand_ins=$root/tests/firmware/stand_ins
read -ra systems <<<"${RUNNEL_SYSTEMS:-esp-idf zephyr arduino mbed}"
work=${RUNNEL_SYSTEMS_FOLDER:-}   # a folder to keep for inspection
if [[ -z $work ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
# In folders of this build's own, the compiler cache would never hit.
export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=true
launcher=()
if command -v ccache >/dev/null; then launcher=(-D CMAKE_C_COMPILER_LAUNCHER=ccache -D CMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

# 12 s of words, whose samples are whole hops and whole halves of a buffer. The header is one of 44 bytes.
[[ $(dd if="$words" bs=1 skip=36 count=4 status=none) == data ]] || die "$words: expected a header of 44 bytes"
head -c $((44 + 384000)) "$words" >"$work/words.wav"
"$runnel" run "wav path='$work/words.wav' truncated=accept ! $("$runnel" inspect "$model" 2>/dev/null | sed -n 's/^  front end  *//p' | head -n 1) ! infer model='$model' ! $("$runnel" inspect "$model" 2>/dev/null | sed -n 's/^  decision  *//p' | head -n 1) ! jsonl" >"$work/desk.jsonl" 2>"$work/desk.log" ||
  die "the digits cannot be run here: $(tail -n 1 "$work/desk.log")"
sed -n 's/^{"type":"event",.*"label":"\([^"]*\)".*"start":\([0-9.]*\),.*/\1 \2/p' "$work/desk.jsonl" | awk '{ printf "%s at %d ms\n", $1, $2 * 1000 + 0.5 }' >"$work/expected"
(($(wc -l <"$work/expected") >= 3)) || die "the recording gives fewer than 3 decisions"

failures=0
failed() {
  say "FAILED: $*"
  failures=$((failures + 1))
}
# Arduino and Mbed OS have the same copy of the sources; at one path, the compiler cache has them for both.
place_of() { case $1 in arduino | mbed) echo copied ;; *) echo "$1" ;; esac; }
configure() {   # SYSTEM SOURCE [FLAG]...
  local system=$1 source=$2
  shift 2
  rm -rf "$work/build/$(place_of "$system")"
  cmake -S "$source" -B "$work/build/$(place_of "$system")" -G Ninja -D CMAKE_BUILD_TYPE=Release "${launcher[@]}" "$@" >"$work/$system.log" 2>&1 &&
    cmake --build "$work/build/$(place_of "$system")" --parallel "$jobs" >>"$work/$system.log" 2>&1
}
built() {   # SYSTEM: by its stand-in
  local folder
  folder=$work/$(place_of "$1")/digits
  case $1 in
    esp-idf)
      IDF_PATH=$stand_ins/esp-idf configure "$1" "$folder/examples/microphone" -D CMAKE_TOOLCHAIN_FILE="$stand_ins/esp-idf/toolchain.cmake" &&
        # The other kind of microphone: compiled.
        mkdir -p "$work/pdm" && sed 's/MICROPHONE_I2S/MICROPHONE_PDM/' "$work/build/$1/config/sdkconfig.h" >"$work/pdm/sdkconfig.h" &&
        riscv64-unknown-elf-gcc -march=rv32imafc -mabi=ilp32f --specs=picolibc.specs -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I "$work/pdm" -I "$stand_ins/esp-idf/include" \
          -I "$folder" -I "$root" "$folder/examples/microphone/main/main.c" >>"$work/$1.log" 2>&1
      ;;
    zephyr) ZEPHYR_BASE=$stand_ins/zephyr configure "$1" "$folder/samples/microphone" -D CMAKE_TOOLCHAIN_FILE="$stand_ins/common/arm.cmake" ;;
    arduino)
      configure "$1" "$stand_ins/arduino" -D LIBRARY="$folder" -D CMAKE_TOOLCHAIN_FILE="$stand_ins/common/arm.cmake" &&
        # The sketch for the other core, whose microphone is an I2S one: compiled.
        riscv64-unknown-elf-g++ -march=rv32imafc -mabi=ilp32f --specs=picolibc.specs -std=gnu++20 -fsyntax-only -D ARDUINO_ARCH_ESP32 \
          -I "$stand_ins/arduino/core" -I "$stand_ins/common" -I "$stand_ins/esp-idf/include" -I "$folder/src" -include Arduino.h -x c++ "$folder/examples/Microphone/Microphone.ino" >>"$work/$1.log" 2>&1
      ;;
    mbed)
      ln -s "$stand_ins/mbed/mbed-os" "$folder/examples/microphone/mbed-os"
      configure "$1" "$folder/examples/microphone" -D CMAKE_TOOLCHAIN_FILE="$stand_ins/common/arm.cmake"
      ;;
  esac
}
# One system: SYSTEM WHERE-THE-MODEL-IS (program or partition).
one_system() {
  local system=$1 apart=$2 board=mps2-an386 address=0x300000 options=(--step) loader=() what=$1
  if [[ $system == esp-idf ]]; then board=virt-rv32imafc address=0x84000000; fi
  local folder=$work/$(place_of "$system")
  rm -rf "$folder"
  if [[ $apart == partition ]]; then
    options=(--model-partition)
    what="$system, the model in a partition"
    # In flash apart from the program, where the stand-ins say.
    loader=(-device "loader,file=$folder/digits/digits.rnli,addr=$address,force-raw=on")
  fi
  "$runnel" embed "$model" -o "$folder/digits" "${options[@]}" --build-system "$system" 2>"$work/$system.embed" || { failed "$what: $(tail -n 1 "$work/$system.embed")"; return; }
  if ! built "$system"; then
    grep -E -A 4 'error|Error|undefined|FAILED' "$work/$system.log" | head -n 40 >&2
    failed "$what: the stand-in cannot build it"
    return
  fi
  emulate "$board" "$work/build/$(place_of "$system")/image.elf" "arg=image,arg=$work/words.wav" ${loader[@]+"${loader[@]}"} >"$work/$system.out" 2>&1 || true
  grep ' ms' "$work/$system.out" >"$work/$system.decisions" || true
  cmp -s "$work/$system.decisions" "$work/expected" || { head -n 5 "$work/$system.out" >&2; failed "$what: other decisions than on this machine"; return; }
  say "$what: $(wc -l <"$work/expected") decisions, as on this machine ($board)"
}
for system in "${systems[@]}"; do one_system "$system" program; done
# Of models in partitions, when asked for: a system that takes the source tree (esp-idf, zephyr), or one with a copy (arduino, mbed).
read -ra apart <<<"${RUNNEL_PARTITION_SYSTEMS-}"
for system in ${apart[@]+"${apart[@]}"}; do one_system "$system" partition; done
((failures == 0)) || die "$failures failures"
