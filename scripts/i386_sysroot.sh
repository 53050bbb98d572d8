#!/usr/bin/env bash
# i386_sysroot.sh [FOLDER]: unpacks what a build for 32-bit x86 links into a folder of its own (default: build-i386-sysroot beside the
# sources), for scripts/fuzz_device32.sh. The packages that bring it to a whole system (gcc-multilib) would remove the compilers for Arm
# and RISC-V. Nothing of this machine changes. Does nothing when the folder is complete.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/sysroot.sh"

folder=${1:-$root/build-i386-sysroot}
wanted=(libc6 libc6-dev libgcc-s1 libgcc-12-dev libstdc++6 libstdc++-12-dev linux-libc-dev libflatbuffers-dev)
mark=$folder/.complete
[[ -f $mark && $(cat "$mark") == "${wanted[*]}" ]] && exit 0

# Its main suite alone: what is linked needs no latest corrections.
private_apt i386 "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) bookworm main"
say "reading the lists of i386"
apt update || die "the lists of packages for i386 cannot be read"
say "fetching the libraries for i386"
(cd "$state/cache/archives" && apt download "${wanted[@]}") || die "the packages for i386 cannot be fetched"
rm -rf "$folder.part"
unpack "$folder.part"
rm -rf "$folder"
mv "$folder.part" "$folder"
echo "${wanted[*]}" >"$mark"
say "$(du -sh "$folder" | cut -f1) in $folder"
