#!/usr/bin/env bash
# install.sh [PURPOSE...]: installs the Debian packages that are missing; build and test when no purpose is named.
# Purposes: build test bench demo fuzz tidy firmware scale browser site, or all. Prints and changes nothing when everything
# is installed.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/packages.sh"

purposes=("$@")
if [[ ${#purposes[@]} -eq 0 ]]; then purposes=(build test); fi
if [[ ${purposes[*]} == all ]]; then read -ra purposes <<<"$RUNNEL_PURPOSES"; fi

wanted=()
for purpose in "${purposes[@]}"; do
  packages=$(packages_for "$purpose") || die "unknown purpose \"$purpose\"; expected some of: $RUNNEL_PURPOSES, or all"
  read -ra list <<<"$packages"
  wanted+=("${list[@]}")
done

command -v dpkg-query >/dev/null ||
  die "this is not a Debian system (no dpkg-query); install the equivalents of these packages yourself: ${wanted[*]}"
is_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then exit 0; fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || die "missing packages: ${missing[*]}; run this as root, or install sudo"
  as_root=(sudo)
fi
apt_get() {
  # Messages go to stderr: stdout is for data.
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=580 "$@" >&2
}
say "installing: ${missing[*]}"
apt_get update || say "the package lists could not be refreshed; trying with those that are there"
apt_get install -y --no-install-recommends "${missing[@]}" ||
  die "apt could not install all of: ${missing[*]}; runnel is made for Debian 12 (bookworm)"
for package in "${missing[@]}"; do
  is_installed "$package" || die "$package is still missing after its installation"
done
