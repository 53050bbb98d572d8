#!/usr/bin/env bash
# firmware_told.sh [BUILD]: builds firmware/counters_image.cpp for boards with a Cortex-M4F and a RISC-V, and
# firmware/cores_image.cpp for two boards with two cores, and runs them in QEMU: `runnel profile --from-device` reads what
# they print, and two cores give the bytes of one. BUILD (default: build) is a release build with tests; the boards' builds
# lie in BUILD/firmware/told.*. Ends with 77 when a compiler or QEMU is missing (scripts/install.sh firmware).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/firmware/boards.sh"
source "$root/firmware/elf_checks.sh"
build=$(realpath -- "${1:-$root/build}")
tests=$build/tests/firmware/told_firmware_tests
for board in mps2-an386 virt-rv32imafc; do
  missing=$(missing_for "$board")
  [[ -z $missing ]] || { say "SKIPPED WITHOUT ${missing//$'\n'/, }: scripts/install.sh firmware"; exit 77; }
done
[[ -x $tests ]] || die "$tests is missing: configure with -D RUNNEL_TESTS=ON and build first"
folders=$build/tests/firmware
counted="$folders/counted;$folders/countedstep"
cores="$folders/twocores;$folders/twovibration"

build_board() {   # BOARD SETTING... -- IMAGE...: in a folder of its own, as other scripts give the board other programs
  local board=$1 folder=$build/firmware/told.$1 settings=()
  shift
  while [[ $1 != -- ]]; do settings+=(-D "$1") && shift; done
  shift
  mkdir -p "$folder"
  if ! { cmake -S "$root" -B "$folder" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$(toolchain_of "$board")" -D CMAKE_BUILD_TYPE=Release -D RUNNEL_BOARD="$board" "${settings[@]}" &&
         cmake --build "$folder" --parallel "$jobs" --target "$@"; } >"$folder.log" 2>&1; then
    grep -E "error|Error|undefined" "$folder.log" >&2 || cat "$folder.log" >&2
    die "$board: the build failed ($folder.log)"
  fi
  local image tools
  tools=$(prefix_of "$board")
  for image in "$@"; do check_image "$folder/firmware/$image.elf"; done
}
build_board mps2-an386 RUNNEL_COUNTED="$counted" -- counted_counters countedstep_counters
build_board mps2-an521 RUNNEL_TWO_CORES="$cores" -- twocores_cores twovibration_cores
build_board virt-rv32imafc RUNNEL_COUNTED="$counted" RUNNEL_TWO_CORES="$cores" -- counted_counters countedstep_counters twocores_cores twovibration_cores
cc -std=c11 -shared -fPIC -O2 "$root/firmware/host/count_cores.c" -o "$build/firmware/count_cores.so"
RUNNEL_FIRMWARE=$build/firmware RUNNEL_COUNT_CORES=$build/firmware/count_cores.so RUNNEL_PROGRAM=$build/runnel "$tests"
