#!/usr/bin/env bash
# fuzz_build.sh [KIND ...]: builds the fuzzers (all, or those of these kinds) as OSS-Fuzz builds projects: compilers, flags and engine come from
# the environment, and everything that a machine needs to run them goes into one folder.
#
#   SRC     the sources (default: this folder's)
#   WORK    where it is built (default: build-oss below the sources)
#   OUT     what it gives (default: WORK/out): KIND_fuzzer, KIND_fuzzer_seed_corpus.zip, KIND_fuzzer.options, KIND_fuzzer.dict
#   CC, CXX, CFLAGS, CXXFLAGS    as ever (default: clang-14, with AddressSanitizer, UndefinedBehaviorSanitizer and coverage for libFuzzer)
#   LIB_FUZZING_ENGINE    linker option or library of what runs them (default: -fsanitize=fuzzer)
#
# tests/fuzz/README.md lists the kinds. Needs the packages of `build`, `test` and `fuzz` (scripts/install.sh).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

: "${SRC:=$root}" "${CXX:=clang++-14}" "${CC:=clang-14}" "${LIB_FUZZING_ENGINE:=-fsanitize=fuzzer}"
: "${WORK:=$SRC/build-oss}"
: "${OUT:=$WORK/out}"
sanitized="-O1 -gline-tables-only -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"
: "${CXXFLAGS:=$sanitized}" "${CFLAGS:=$sanitized}"
command -v python3 >/dev/null || die "python3 is missing: scripts/install.sh test"
command -v "$CXX" >/dev/null || die "$CXX is missing: scripts/install.sh fuzz"
mkdir -p "$WORK" "$OUT"

# Their flags, and nothing else: no build type adds some, no cached header hides what a file includes.
env CC="$CC" CXX="$CXX" CFLAGS="$CFLAGS" CXXFLAGS="$CXXFLAGS" cmake -G Ninja -S "$SRC" -B "$WORK/build" \
  -D CMAKE_BUILD_TYPE=None -D RUNNEL_TESTS=ON -D RUNNEL_FUZZ=ON -D RUNNEL_BENCH=OFF -D RUNNEL_PYTHON=OFF -D RUNNEL_WERROR=OFF \
  -D RUNNEL_PCH=OFF -D RUNNEL_UNITY=OFF -D RUNNEL_HARDENING=OFF -D RUNNEL_EXAMPLES=OFF -D RUNNEL_VECTOR_KERNELS=OFF "-DRUNNEL_FUZZ_ENGINE=$LIB_FUZZING_ENGINE" >"$WORK/configure.log" ||
  die "it cannot be configured: $WORK/configure.log"

if [[ $# -gt 0 ]]; then kinds=("$@"); else mapfile -t kinds < <(cmake --build "$WORK/build" --target help | sed -n 's/^\([a-z0-9_]*\)_fuzzer: phony$/\1/p'); fi
[[ ${#kinds[@]} -gt 0 ]] || die "there are no fuzzers to build"
targets=("${kinds[@]/%/_fuzzer}")
# All that makes seeds links every library; for some kinds what the tree keeps is enough.
if [[ $# -eq 0 ]]; then targets+=(make_corpus reader_corpus); fi
cmake --build "$WORK/build" -j "$jobs" --target "${targets[@]}" >"$WORK/build.log" || die "they cannot be built: $WORK/build.log"
seeds=$WORK/seeds
rm -rf "$seeds"
mkdir -p "$seeds"
if [[ $# -eq 0 ]]; then
  "$WORK/build/tests/fuzz/make_corpus" "$seeds" || die "make_corpus failed"
  reader_corpus=$(find "$WORK/build/tests/fuzz" -name reader_corpus -type f)
  "$reader_corpus" "$seeds" || die "reader_corpus failed"
fi

for kind in "${kinds[@]}"; do
  cp "$WORK/build/tests/fuzz/${kind}_fuzzer" "$OUT/"
  mkdir -p "$seeds/$kind"
  if [[ -d $SRC/tests/corpus/$kind ]]; then cp -r "$SRC/tests/corpus/$kind/." "$seeds/$kind/"; fi
  python3 - "$seeds/$kind" "$OUT/${kind}_fuzzer_seed_corpus.zip" <<'PYTHON'
import pathlib, sys, zipfile
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as out:
    for one in sorted(folder.iterdir()):
        # The same bytes whenever it is made.
        out.writestr(zipfile.ZipInfo(one.name, (1980, 1, 1, 0, 0, 0)), one.read_bytes())
PYTHON
  {
    printf '[libfuzzer]\nmax_len = 65536\ntimeout = 20\nrss_limit_mb = 4096\n'
    if [[ -f $SRC/tests/fuzz/dictionaries/$kind.dict ]]; then
      cp "$SRC/tests/fuzz/dictionaries/$kind.dict" "$OUT/${kind}_fuzzer.dict"
      printf 'dict = %s_fuzzer.dict\n' "$kind"
    fi
  } >"$OUT/${kind}_fuzzer.options"
done
say "${#kinds[@]} fuzzers in $OUT"
