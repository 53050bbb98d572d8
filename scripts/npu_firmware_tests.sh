#!/usr/bin/env bash
# npu_firmware_tests.sh [BUILD]: builds firmware/npu_image.cpp and firmware/npu_node_image.cpp for the board with a
# Cortex-M55, and runs compiled networks on it in QEMU: the driver with the registers of three generations, embedded
# programs, a real interrupt, and a register-level device that plays back the simulator's runs on this machine. BUILD (default: build) is a release build with tests. Ends with 77 when the compiler or QEMU is
# missing (scripts/install.sh firmware).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/firmware/elf_checks.sh"
build=$(realpath -- "${1:-$root/build}")
board=mps3-an547
for program in arm-none-eabi-g++ arm-none-eabi-nm qemu-system-arm; do
  if ! command -v "$program" >/dev/null; then
    say "SKIPPED WITHOUT $program: scripts/install.sh firmware"
    exit 77
  fi
done
tests=$build/tests/firmware/npu_firmware_tests
[[ -x $tests ]] || die "$tests is missing: configure with -D RUNNEL_TESTS=ON and build first"
folder=$build/firmware/$board
mkdir -p "$folder"
if ! { cmake -S "$root" -B "$folder" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$root/cmake/arm-none-eabi.cmake" -D CMAKE_BUILD_TYPE=Release -D RUNNEL_BOARD="$board" -D RUNNEL_NPU_PROGRAMS="$build/tests/firmware/npudigits;$build/tests/firmware/cpudigits" &&
       cmake --build "$folder" --parallel "$jobs" --target npu_image npu_node_image; } >"$folder.npu.log" 2>&1; then
  cat "$folder.npu.log" >&2
  die "$board: the build failed"
fi
check_image "$folder/firmware/npu_image.elf"
check_image "$folder/firmware/npu_node_image.elf"
arm-none-eabi-size "$folder/firmware/npu_image.elf" "$folder/firmware/npu_node_image.elf"
RUNNEL_FIRMWARE=$build/firmware "$tests"
