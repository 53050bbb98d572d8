#!/usr/bin/env bash
# units_test.sh FOLDER: systemd's own judgement of the services in FOLDER: exposure at most 2.5 of 10, and no line that it does not understand.
# A unit without its hardening must be found.
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo "SKIPPED WITHOUT systemd-analyze: install systemd" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# exposure UNIT: as a number.
exposure() { systemd-analyze security --offline=true "$1" 2>"$folder/err" | sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p'; }
few() { awk -v found="$1" 'BEGIN { exit !(found != "" && found + 0 <= 2.5) }'; }
for unit in "$1"/*.service; do
  found=$(exposure "$unit")
  if [[ -s $folder/err ]]; then cat "$folder/err" >&2; exit 1; fi
  few "$found" || { echo "$(basename -- "$unit"): exposure $found, expected at most 2.5" >&2; exit 1; }
  echo "$(basename -- "$unit"): exposure $found"
  # What other limits does it have? systemd does not judge them.
  for limit in MemoryMax= TasksMax= DynamicUser=yes NoNewPrivileges=yes DevicePolicy=closed; do
    grep "^$limit" "$unit" >/dev/null || { echo "$(basename -- "$unit") has no line $limit" >&2; exit 1; }
  done
  open=$folder/$(basename -- "$unit")
  grep -v '^Protect\|^Restrict\|^SystemCall\|^CapabilityBoundingSet\|^DynamicUser' "$unit" >"$open"
  if few "$(exposure "$open")"; then echo "the check does not find a service without its hardening" >&2; exit 1; fi
done
