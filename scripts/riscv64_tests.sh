#!/usr/bin/env bash
# riscv64_tests.sh ready|build|run|all: tests of kernels, front ends, streaming, decoding and inference on emulated 64-bit RISC-V, and the
# program beside that of this machine.
#
#   ready   unpacks the libraries for riscv64 (scripts/riscv64_sysroot.sh); exit code 77, with the reason, where a tool or the network is missing
#   build   cross-builds the program and the tests below into build-riscv64
#   run     runs them, and compares features, logits and events of the emulated program with those of build/runnel, byte by byte
#   all     ready, build, run; a missing tool is said and is no failure
#
# Tests that need recordings or oracles are skipped: the release build runs them. With RUNNEL_TEST_DATA, the program's decisions over its
# recordings of digits are compared, too. RUNNEL_JOBS: programs at a time (default: one per processor).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/emulated_tests.sh"
machine="64-bit RISC-V" architecture=riscv64 compiler=riscv64-linux-gnu-g++ purpose=riscv sysroot_script=riscv64_sysroot.sh
preset=riscv64 build=$root/build-riscv64 sysroot=$root/build-riscv64-sysroot
processors=(rv64)
tests=("tests/kernels/kernels_tests -" "tests/features/features_tests -PresetOracle*:MelBank.InfinitePowers*:MelBank.EveryFilterIsDefined*" "tests/streaming/streaming_tests -"
  "tests/decoding/decoding_tests -*BruteForce*" "tests/inference/inference_tests -ArenaPlanner.TimeIsBounded")
with_program=1
do_what "$@"
