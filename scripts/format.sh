#!/usr/bin/env bash
# format.sh [--check]: lays out all C and C++ sources as .clang-format says; with --check changes nothing, names the
# files that differ on stderr and ends with 1.
#
# Needs clang-format 14: other versions lay out some lines differently.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

mode=-i
case "$*" in
  "") ;;
  --check) mode=--dry-run ;;
  *) die "unknown arguments \"$*\"; usage: $name [--check]" ;;
esac
formatter=$(command -v clang-format-14) || die "clang-format-14 is missing; scripts/install.sh test installs it"

cd "$root"
# Outside of a git checkout (an unpacked archive) every source below the folders of the tree counts.
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  list() { git ls-files -z --cached --others --exclude-standard -- '*.h' '*.hpp' '*.c' '*.cpp'; }
else
  list() { find . -name 'build*' -prune -o \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' \) -print0; }
fi
status=0
if [[ $mode == -i ]]; then
  list | xargs -0 -r -n 100 "$formatter" -i
else
  list | xargs -0 -r -n 100 -P "$jobs" "$formatter" --dry-run --Werror >&2 || status=1
  if [[ $status -ne 0 ]]; then die "the files above are not laid out as .clang-format says; scripts/format.sh does it"; fi
fi
