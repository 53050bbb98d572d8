#!/usr/bin/env bash
# package.sh [FOLDER]: makes the Debian packages of this version (docs/packages.md) and prints their paths, one a line; messages on stderr.
#
# FOLDER: where the packages go (default: build-package/packages). They are made for the prefix /usr and without FFTW, so that they stay under
# Apache-2.0. An existing folder build-package is used again. RUNNEL_JOBS sets the number of jobs. The same source gives the same bytes
# (scripts/reproducible.sh): dates are those of the last commit, or SOURCE_DATE_EPOCH.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
case "${1:-}" in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  -*) die "unknown argument \"$1\"; usage: $name [FOLDER]" ;;
esac
if [[ $# -gt 1 ]]; then die "takes one folder at most, found $# arguments"; fi

build=$root/build-package
to=${1:-$build/packages}
mkdir -p -- "$to" || die "$to: cannot be made"
to=$(cd -- "$to" && pwd)
"$root/scripts/install.sh" build python package

SOURCE_DATE_EPOCH=$(epoch)
export SOURCE_DATE_EPOCH
umask 022
log=$(mktemp) again=$(mktemp -d)
trap 'rm -rf "$log" "$again"' EXIT
# quietly COMMAND...: shows its output only when it fails.
quietly() {
  if ! "$@" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    die "\"$*\" failed; its last lines are above"
  fi
}
cd "$root"
say "configuring"
quietly cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_INSTALL_PREFIX=/usr -D RUNNEL_FFTW=OFF -D RUNNEL_TESTS=OFF \
  -D RUNNEL_BENCH=OFF -D RUNNEL_EXAMPLES=OFF
say "building"
quietly cmake --build "$build" --parallel "$jobs"
say "packing"
rm -rf "$build/packages"
(cd "$build" && quietly cpack -G DEB)
shopt -s nullglob
packages=("$build"/packages/*.deb)
if [[ ${#packages[@]} -lt 3 ]]; then die "${#packages[@]} packages were made, expected at least 3: runnel, librunnel0, librunnel-dev"; fi
# CPack writes the files of an archive in the order of the file system, with the times of this build; dpkg-deb sorts them, with one time and one
# thread.
for package in "${packages[@]}"; do
  rm -rf "$again/files"
  dpkg-deb -R "$package" "$again/files"
  LC_ALL=C sort -k 2 -o "$again/files/DEBIAN/md5sums" "$again/files/DEBIAN/md5sums"
  find "$again/files" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  quietly dpkg-deb --root-owner-group --threads-max=1 -Zxz -b "$again/files" "$package"
done
for package in "${packages[@]}"; do
  if [[ $(dirname -- "$package") != "$to" ]]; then cp -- "$package" "$to/"; fi
  echo "$to/$(basename -- "$package")"
done
