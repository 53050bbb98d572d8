#!/usr/bin/env bash
# reproducible.sh [FOLDER]: makes the Debian packages twice, from two copies of this source in folders of different names, and compares them byte
# by byte. What differs is named, file by file. The copies and packages stay in FOLDER (default: a temporary one, which is removed when
# all are equal). Takes as long as two builds; a compiler cache would answer the second one, so none is used. RUNNEL_JOBS sets the number of jobs.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
if [[ ${1:-} == -* || $# -gt 1 ]]; then die "usage: $name [FOLDER]"; fi
if [[ $# -eq 1 ]]; then
  mkdir -p -- "$1"
  work=$(cd -- "$1" && pwd)
else
  work=$(mktemp -d)
fi
SOURCE_DATE_EPOCH=$(epoch)
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1
say "two builds of $(cd "$root" && git describe --always --dirty 2>/dev/null || echo "this source"), dated $(date -u -d "@$SOURCE_DATE_EPOCH" +%F)"
copies=(first "a/second, whose name is longer")
for copy in "${copies[@]}"; do
  rm -rf "${work:?}/$copy"
  mkdir -p "$work/$copy"
  # What git knows, as it lies here: no builds.
  (cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -xf - -C "$work/$copy"
  "$work/$copy/scripts/package.sh" "$work/$copy/out" >"$work/$copy/log"
done
status=0
for package in "$work/${copies[0]}"/out/*.deb; do
  other="$work/${copies[1]}/out/$(basename -- "$package")"
  if cmp -s -- "$package" "$other"; then
    echo "$(sha256sum <"$package" | cut -c1-64)  $(basename -- "$package")"
    continue
  fi
  status=1
  say "$(basename -- "$package") differs"
  for side in 0 1; do
    rm -rf "$work/unpacked$side"
    dpkg-deb -R "$([[ $side == 0 ]] && echo "$package" || echo "$other")" "$work/unpacked$side"
  done
  diff -rq "$work/unpacked0" "$work/unpacked1" >&2 || true
done
if [[ $status -ne 0 ]]; then die "the packages are not the same; the copies are in $work"; fi
say "all packages have the same bytes"
if [[ $# -eq 0 ]]; then rm -rf "$work"; fi
