#!/usr/bin/env bash
# firmware_tests.sh [BUILD]: builds the programs of firmware/ for boards with Cortex-M3, M4F, M7F and M55, runs them in
# QEMU, and compares their results with this machine's, byte by byte. BUILD (default: build) is a release build with
# tests; the boards' builds lie in BUILD/firmware. Ends with 77 when the compiler or QEMU is missing (scripts/install.sh
# firmware).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
build=$(realpath -- "${1:-$root/build}")
boards=(mps2-an385 mps2-an386 mps2-an500 mps3-an547)

for program in arm-none-eabi-g++ arm-none-eabi-nm qemu-system-arm; do
  if ! command -v "$program" >/dev/null; then
    say "SKIPPED WITHOUT $program: scripts/install.sh firmware"
    exit 77
  fi
done
tests=$build/tests/firmware/firmware_tests
[[ -x $tests ]] || die "$tests is missing: configure with -D RUNNEL_TESTS=ON and build first"

source "$root/firmware/elf_checks.sh"
frame_objects=(features/{kernels_generic,kernels_reference,fixed_generic,fixed_reference,framer,fft,complex_fft,fbank}
               kernels/{conv_reference,elementwise_reference,pool} inference/session)
# Of these, the ones for the processor.
device_objects=(kernels/{conv_generic,conv_device,conv_dsp,conv_helium,elementwise_generic,elementwise_dsp,elementwise_helium})

# The board without a floating-point unit runs front ends and kernels only.
images=(features_image microfrontend_image kernels_image traps_image)
for board in "${boards[@]}"; do
  targets=("${images[@]}")
  [[ $board == mps2-an385 ]] || targets+=(model_image)
  folder=$build/firmware/$board
  log=$folder.log
  mkdir -p "$folder"
  if ! { cmake -S "$root" -B "$folder" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$root/cmake/arm-none-eabi.cmake" -D CMAKE_BUILD_TYPE=Release -D RUNNEL_BOARD="$board" &&
         cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    die "$board: the build failed"
  fi
  for source in "${frame_objects[@]}" "${device_objects[@]}"; do
    object=$(find "$folder/${source%/*}" -name "${source##*/}.cpp.o*" | head -n 1)
    if [[ -z $object ]]; then
      [[ " ${device_objects[*]} " == *" $source "* || $source == inference/* ]] || die "$board: no object of $source.cpp"
      continue
    fi
    if arm-none-eabi-nm --undefined-only --format=just-symbols "$object" | grep -E "$double_precision" >&2; then
      die "$board: $source.cpp computes in double precision"
    fi
  done
  for image in "$folder"/firmware/*.elf; do check_image "$image"; done
done
RUNNEL_FIRMWARE=$build/firmware "$tests"
