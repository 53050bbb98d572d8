#!/usr/bin/env bash
# arm64_sysroot.sh [FOLDER]: unpacks what a build for 64-bit Arm links into a folder of its own (default: build-aarch64-sysroot beside
# the sources). Nothing of this machine changes but apt's lists: the foreign architecture is known to a private copy of apt's state only.
#
# Needs g++-aarch64-linux-gnu and, to run what was built, qemu-user (scripts/install.sh arm). Does nothing when the folder is complete.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/sysroot.sh"

folder=${1:-$root/build-aarch64-sysroot}
wanted=(libsndfile1-dev libasound2-dev libflatbuffers-dev libfftw3-dev libfmt-dev libmbedtls-dev libgtest-dev libgmock-dev libbenchmark-dev
  libpng-dev libcpp-httplib-dev libssl-dev libonnx-dev libprotobuf-dev libmosquitto-dev libxnnpack-dev libpthreadpool-dev libkissfft-dev)
# What has no architecture is taken from the packages of all: headers, and sources of GoogleTest.
common=(nlohmann-json3-dev libcli11-dev googletest)
mark=$folder/.complete
[[ -f $mark && $(cat "$mark") == "${wanted[*]} ${common[*]}" ]] && exit 0

private_apt arm64
say "reading the lists of arm64"
apt update || die "the lists of packages for arm64 cannot be read"
say "fetching the libraries for arm64"
apt install -y --download-only "${wanted[@]}" "${common[@]}" || die "the packages for arm64 cannot be fetched"
rm -rf "$folder.part"
unpack "$folder.part"
# Programs that run while building are this machine's.
for program in flatc protoc; do
  if command -v "$program" >/dev/null; then ln -sfn "$(command -v "$program")" "$folder.part/usr/bin/$program"; fi
done
rm -rf "$folder"
mv "$folder.part" "$folder"
echo "${wanted[*]} ${common[*]}" >"$mark"
say "$(du -sh "$folder" | cut -f1) in $folder"
