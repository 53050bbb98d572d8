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
# Tests that need recordings or oracles are skipped: the release build runs them. With RUNNEL_TEST_DATA, the program's decisions over its
# recordings of digits are compared, too. RUNNEL_JOBS: programs at a time (default: one per processor).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/emulated_tests.sh"
machine="64-bit Arm" architecture=aarch64 compiler=aarch64-linux-gnu-g++ purpose=arm sysroot_script=arm64_sysroot.sh
preset=aarch64 build=$root/build-aarch64 sysroot=$root/build-aarch64-sysroot
processors=(cortex-a53 cortex-a76 max)
tests=("tests/kernels/kernels_tests -")
# What `short` leaves out, with the program: most of the libraries are built for these.
with_program=0
if [[ ${*: -1} != short ]]; then
  with_program=1
  tests+=("tests/kernels/constant_kernels_tests -" "tests/features/features_tests -PresetOracle*:MelBank.InfinitePowers*:MelBank.EveryFilterIsDefined*" "tests/streaming/streaming_tests -"
    "tests/decoding/decoding_tests -*BruteForce*" "tests/inference/inference_tests -ArenaPlanner.TimeIsBounded")
fi
do_what "$@"
