#!/usr/bin/env bash
# in_c_test.sh BUILD EXAMPLES COMPILER SANITIZE: installs the library and its header into a fresh prefix, compiles the examples in C as a
# stranger does, with pkg-config and warnings as errors, runs them under valgrind, and compares what they print with the program.
set -euo pipefail
build=$1 examples=$2 compiler=$3 sanitize=$4
if [[ -n $sanitize ]]; then
  echo "SKIPPED: programs in C do not load a library with sanitizers" >&2
  exit 77
fi
command -v pkg-config >/dev/null || { echo "SKIPPED WITHOUT pkg-config" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
for component in library development; do cmake --install "$build" --prefix "$prefix" --component "$component" >/dev/null; done
pc=$(find "$prefix" -name runnel.pc)
[[ -n $pc ]] || { echo "no runnel.pc was installed" >&2; exit 1; }
export PKG_CONFIG_PATH=${pc%/runnel.pc}
libraries=$(dirname -- "${pc%/runnel.pc}")
soname=$(readelf -d "$libraries/librunnel.so" | sed -n 's/.*(SONAME)[^[]*\[\(.*\)\]/\1/p')
[[ $soname == librunnel.so.0 ]] || { echo "the library's SONAME is \"$soname\", expected librunnel.so.0" >&2; exit 1; }

# Nothing but the interface can be seen.
nm -D --defined-only "$libraries/librunnel.so" | awk '{print $3}' | sed 's/@.*//' | grep -v '^RUNNEL_0$' | sort >"$folder/seen"
grep -o 'runnel_[a-z0-9_]*;' "$(dirname -- "$0")/../../library/runnel.map" | tr -d ';' | sort >"$folder/promised"
diff "$folder/promised" "$folder/seen" || { echo "the library's symbols differ from library/runnel.map" >&2; exit 1; }
# The header declares exactly these, and is C99 and C++ alone.
cat >"$folder/all.c" <<'C'
#include <runnel/runnel.h>
#include <stdio.h>
C
{
  echo 'int main(void) {'
  while read -r function; do echo "  printf(\"%d\", (int)(sizeof(&$function) != 0));"; done <"$folder/promised"
  echo '  return 0; }'
} >>"$folder/all.c"
read -ra flags < <(pkg-config --cflags --libs runnel)
warnings=(-O1 -g -Wall -Wextra -Wpedantic -Werror -Wstrict-prototypes)
"$compiler" -std=c99 "${warnings[@]}" "$folder/all.c" "${flags[@]}" -o "$folder/all"
"${CXX:-c++}" -std=c++11 -Wall -Wextra -Wpedantic -Werror -x c++ -fsyntax-only "$folder/all.c" "${flags[@]}"

for example in listen sessions tensors; do
  "$compiler" -std=c99 "${warnings[@]}" "$examples/$example.c" "${flags[@]}" -o "$folder/$example"
done
export LD_LIBRARY_PATH=$libraries
valgrind=()
if command -v valgrind >/dev/null; then
  # AVX-512 is not known to valgrind: it shows programs a processor without it.
  valgrind=(valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible)
else
  echo "WITHOUT valgrind: the examples run without it" >&2
fi
model=$build/models/digits/digits.rnl
# compare RECORDING DECISION: what the examples say about it is what the program says.
compare() {
  local wav=$1 decision=$2 settings=() options=()
  if [[ -n $decision ]]; then
    settings=("decision='$decision'")
    options=(--decision "$decision")
  fi
  (cd "$(dirname -- "$wav")" && "$build/runnel" listen "$model" --wav "$(basename -- "$wav")" "${options[@]}") >"$folder/program"
  grep '"type":"event"' "$folder/program" >"$folder/expected" || true
  [[ -s $folder/expected ]] || { echo "$wav makes no events: nothing to compare" >&2; exit 1; }
  "${valgrind[@]}" "$folder/listen" "$model" "$wav" "${settings[@]}" >"$folder/listened"
  cmp "$folder/expected" "$folder/listened" || { echo "librunnel and runnel listen --wav say different things about $wav" >&2; exit 1; }
  "${valgrind[@]}" "$folder/sessions" "$model" "$wav" "${settings[@]}" >"$folder/sessions.out"
  if grep -v ' 4 of 4$' "$folder/sessions.out"; then echo "streams of one model disagree (above)" >&2; exit 1; fi
  [[ $(wc -l <"$folder/sessions.out") == "$(wc -l <"$folder/expected")" ]] || { echo "streams lost decisions" >&2; exit 1; }
  echo "$(basename -- "$wav"): the examples in C say what the program says, $(wc -l <"$folder/expected") decisions"
}
"$compiler" -std=c99 -O1 "$(dirname -- "$0")/tones.c" -lm -o "$folder/tones"
"$folder/tones" >"$folder/tones.wav"
compare "$folder/tones.wav" 'detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=""'
speech=${RUNNEL_TEST_DATA:-}/digits/stitched_90s.wav
if [[ -f $speech ]]; then compare "$speech" ''; else echo "WITHOUT TEST DATA: no speech" >&2; fi
"${valgrind[@]}" "$folder/tensors" "$model" >"$folder/tensors.out"
cat "$folder/tensors.out"
grep -q '^input ' "$folder/tensors.out"
grep -q '^output ' "$folder/tensors.out"
