#!/usr/bin/env bash
# libcxx_sysroot.sh [FOLDER]: unpacks LLVM's standard library for C++ into a folder of its own (default: build-libcxx-sysroot beside the
# sources), where the preset `libcxx` looks for it. Its development packages cannot be installed: they replace libunwind-dev by another,
# without which pkg-config does not find GStreamer. Needs clang-16 (scripts/install.sh libcxx). Does nothing when the folder is complete.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/sysroot.sh"

folder=${1:-$root/build-libcxx-sysroot}
wanted=(libc++-16-dev libc++1-16 libc++abi-16-dev libc++abi1-16 libunwind-16-dev libunwind-16)
mark=$folder/.complete
[[ -f $mark && $(cat "$mark") == "${wanted[*]}" ]] && exit 0

private_apt "$(dpkg --print-architecture)"
apt update || die "the lists of packages cannot be read"
say "fetching LLVM's standard library"
(cd "$state/cache/archives" && apt download "${wanted[@]}") || die "the packages cannot be fetched"
rm -rf "$folder.part"
unpack "$folder.part"
rm -rf "$folder"
mv "$folder.part" "$folder"
echo "${wanted[*]}" >"$mark"
say "$(du -sh "$folder" | cut -f1) in $folder"
