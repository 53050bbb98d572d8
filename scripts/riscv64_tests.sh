#!/usr/bin/env bash
# riscv64_tests.sh ready|build [short]|run [short]|short|all: tests of kernels, front ends, streaming, decoding and inference on emulated 64-bit
# RISC-V, without vectors and with vectors of several lengths, and the program beside that of this machine.
#
#   ready   unpacks the libraries for riscv64 (scripts/riscv64_sysroot.sh); exit code 77, with the reason, where a tool or the network is missing
#   build   cross-builds the program and the tests below into build-riscv64
#   run     runs them, and compares features, logits and events of the emulated program with those of build/runnel, byte by byte
#   short   ready, build and run of the kernels alone
#   all     ready, build and run of everything. Here and in `short`, a missing tool is said and is no failure
#
# Kernels for vectors need Clang (cmake/RunnelRvv.cmake); without it those processors are left out, and that is said.
# Tests that need recordings or oracles are skipped: the release build runs them. With RUNNEL_TEST_DATA, the program's decisions over its
# recordings of digits are compared, too. RUNNEL_JOBS: programs at a time (default: one per processor).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/emulated_tests.sh"
machine="64-bit RISC-V" architecture=riscv64 compiler=riscv64-linux-gnu-g++ purpose=riscv sysroot_script=riscv64_sysroot.sh
preset=riscv64 build=$root/build-riscv64 sysroot=$root/build-riscv64-sysroot
processors=(rv64)
features="tests/features/features_tests -PresetOracle*:MelBank.InfinitePowers*:MelBank.EveryFilterIsDefined*"
tests=("tests/kernels/kernels_tests -")
with_program=0
if [[ ${*: -1} != short ]]; then
  with_program=1
  tests+=("$features" "tests/streaming/streaming_tests -" "tests/decoding/decoding_tests -*BruteForce*"
    "tests/inference/inference_tests -ArenaPlanner.TimeIsBounded")
fi
vectors() { echo "rv64,v=true,vext_spec=v1.0,vlen=$1"; }
if [[ $* != ready && -n $* ]]; then
  if command -v clang++-16 >/dev/null; then
    processors+=("$(vectors 128)")
    # Longer ones: what knows the length of vectors.
    also=("$(vectors 256) tests/kernels/kernels_tests -" "$(vectors 512) tests/kernels/kernels_tests -")
    if [[ ${*: -1} != short ]]; then also+=("$(vectors 256) $features"); fi
    # A build without these kernels would run the others on every processor and prove nothing.
    check_build() {
      grep -q "^  vectors  *kernels for RISC-V's vectors" "$build/configure.log" || {
        say "FAILED: clang++-16 is there, but $build has no kernels for vectors: see RUNNEL_RVV in its configure.log"
        return 1
      }
    }
  else
    say "SKIPPED: 64-bit RISC-V with vectors: clang++-16 is missing (scripts/install.sh riscv)"
  fi
fi
do_what "$@"
