#!/usr/bin/env bash
# soak.sh [--minutes N] [OPTIONS]: six hours in one. `serve` with ten streams at six times the speed, clients that come and go, bad ones too, and
# `listen` with its page open and a broker that is killed again and again: memory, descriptors and threads must stay what they are, events must not
# come later and later, and must be those of the same sound offline. Prints a table; exit code 1 when something was not so. Default: 60 minutes.
#
# RUNNEL_BUILD: the folder of the build (default: build, which is built if it is not there). OPTIONS are those of tests/soak/soak.py:
# --warm-up S, --streams N, --speed X, --late X (factor, for machines that are busy otherwise), --growth MIB, --markdown.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
case ${1:-} in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
build=${RUNNEL_BUILD:-$root/build}
if [[ ! -x $build/runnel ]]; then
  if [[ -n ${RUNNEL_BUILD:-} ]]; then die "$build has no program runnel; build it first"; fi
  "$root/scripts/install.sh" build test
  (cd "$root" && cmake --preset release >/dev/null && cmake --build --preset release --parallel "$jobs" --target runnel_program runnel_models) >&2
fi
exec python3 -B "$root/tests/soak/soak.py" "$build/runnel" "$build/models/digits/digits.rnl" "$root/tests/models/digits.wav" "$@"
