# Shared code of the scripts (source it): strict mode, the project's folder, messages on stderr, the clock.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
name=${0##*/}
jobs=${RUNNEL_JOBS:-$(nproc)}

# Seconds since 1970 that dates in packages are of: SOURCE_DATE_EPOCH, else the last commit, else now.
epoch() {
  if [[ ${SOURCE_DATE_EPOCH:-} =~ ^[0-9]+$ ]]; then echo "$SOURCE_DATE_EPOCH"; return; fi
  git -c safe.directory='*' -C "$root" log -1 --format=%ct 2>/dev/null || date +%s
}

say() { printf '%s: %s\n' "$name" "$*" >&2; }
die() {
  say "$*"
  exit 1
}
