#!/usr/bin/env bash
# test_names_test.sh BUILD: no two tests have one name. CTest gives properties, labels among them, by name: a test that shares its name
# with a long one would run with --all only.
set -euo pipefail
names=$(cd -- "$1" && ctest --show-only | sed -n 's/^ *Test *#[0-9]*: //p')
[[ $(wc -l <<<"$names") -gt 100 ]] || { echo "$1: $(wc -l <<<"$names") tests, expected hundreds" >&2; exit 1; }
twice=$(sort <<<"$names" | uniq -d)
if [[ -n $twice ]]; then
  printf 'tests of one name:\n%s\n' "$twice" >&2
  exit 1
fi
