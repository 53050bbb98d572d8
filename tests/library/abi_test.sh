#!/usr/bin/env bash
# abi_test.sh BUILD SOURCE COMPILER: the interface of librunnel is that of the dump in library/abi, or has more. Planted changes, a function that
# is gone and a struct that is different, must be found. The dump is made anew by RUNNEL_UPDATE_ABI=1 (docs/c-library.md says when).
set -euo pipefail
build=$1 source=$2 compiler=$3
for tool in abidw abidiff; do
  command -v $tool >/dev/null || { echo "SKIPPED WITHOUT $tool: install abigail-tools" >&2; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dump=$source/library/abi/librunnel.so.0.abi

# The types of the interface come from a small library with debug information that has all of its functions, so that no special build is
# needed; that the functions are those of librunnel is checked by library.in_c and below.
# stand_in HEADERS NAME [DROPPED]: makes such a library.
stand_in() {
  local headers=$1 name=$2 dropped=${3:-}
  {
    echo '#include "library/runnel_host.h"'
    # Every declaration with its parameters becomes a definition.
    "$compiler" -std=c99 -E -P -w -I "$headers" "$headers/library/runnel_host.h" | tr '\n' ' ' | sed 's/;/;\n/g' |
      grep -o '[a-z][a-z0-9_* ]* \**runnel_[a-z0-9_]*([^()]*);' | grep -v typedef | sed 's/^ *//' |
      while read -r declaration; do
        function=$(sed 's/(.*//; s/.*[ *]//' <<<"$declaration")
        [[ $function == "$dropped" ]] && continue
        echo "${declaration%;} { __builtin_trap(); }"
      done
  } >"$folder/$name.c"
  # The implementation's structs stay incomplete, as they are for users.
  "$compiler" -std=c99 -g -O0 -w -shared -fPIC "-fdebug-prefix-map=$folder=." -I "$headers" -Wl,-soname,librunnel.so.0 "$folder/$name.c" -o "$folder/$name.so"
}
stand_in "$source" now
nm -D --defined-only "$build/lib/librunnel.so" | awk '{print $3}' | sed 's/@.*//' | grep -v '^RUNNEL_0$' | sort >"$folder/real"
nm -D --defined-only "$folder/now.so" | awk '{print $3}' | sort >"$folder/declared"
diff "$folder/real" "$folder/declared" || { echo "the library's functions and those of its header differ" >&2; exit 1; }

abidw --no-corpus-path --no-comp-dir-path --no-show-locs "$folder/now.so" --out-file "$folder/now.abi"
if [[ -n ${RUNNEL_UPDATE_ABI:-} ]]; then
  mkdir -p "$(dirname -- "$dump")"
  cp "$folder/now.abi" "$dump"
  echo "wrote $dump"
fi
# check LIBRARY: fails when something of the dump is gone or different; what is added is allowed.
check() { abidiff --no-added-syms "$dump" "$1"; }
check "$folder/now.so" || { echo "the interface of librunnel has changed (above): docs/c-library.md says what to do" >&2; exit 1; }

# Planted changes.
must_fail() {
  if check "$1" >"$folder/report"; then
    echo "the check does not find $2" >&2
    exit 1
  fi
  echo "found, as it should be: $2"
}
stand_in "$source" without runnel_clone
must_fail "$folder/without.so" "a function that is gone"
mkdir -p "$folder/planted/library" "$folder/planted/embed"
cp "$source/library/runnel_host.h" "$folder/planted/library/"
sed 's/^  int64_t frame; .*/  int32_t frame;/' "$source/embed/runnel_stream.h" >"$folder/planted/embed/runnel_stream.h"
cmp -s "$source/embed/runnel_stream.h" "$folder/planted/embed/runnel_stream.h" && { echo "nothing was planted" >&2; exit 1; }
stand_in "$folder/planted" struct
must_fail "$folder/struct.so" "a struct with another member"
sed 's/RUNNEL_IO_ERROR = 6,/RUNNEL_IO_ERROR = 60,/' "$source/embed/runnel_stream.h" >"$folder/planted/embed/runnel_stream.h"
stand_in "$folder/planted" enum
must_fail "$folder/enum.so" "a code with another number"
