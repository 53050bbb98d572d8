#!/usr/bin/env bash
# device_crypto_sources.sh [FOLDER]: the sources of libsodium and mbedTLS as this Debian has them, of which firmware/slots builds
# Ed25519 and AES-128-GCM for boards, into FOLDER (default: build-crypto-sources beside the sources). Nothing of this machine
# changes. Does nothing when the folder is complete.
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/sysroot.sh"

folder=${1:-$root/build-crypto-sources}
wanted=(libsodium mbedtls)
mark=$folder/.complete
[[ -f $mark && $(cat "$mark") == "${wanted[*]}" ]] && exit 0

codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
[[ -n $codename ]] || die "this system's release has no name (/etc/os-release)"
private_apt "$(dpkg --print-architecture)" "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $codename main"
say "reading the list of sources"
apt update || die "the list of Debian's sources cannot be read"
part=$folder.part.$$
rm -rf "$part"
mkdir -p "$part"
trap 'rm -rf "$state" "$part"' EXIT
say "fetching the sources of ${wanted[*]}"
(cd "$part" && apt source --download-only "${wanted[@]}") || die "the sources of ${wanted[*]} cannot be fetched"
for one in "${wanted[@]}"; do
  mkdir "$part/$one"
  tar -xf "$part/${one}"_*.orig.tar.* -C "$part/$one" --strip-components=1 || die "the sources of $one cannot be unpacked"
done
rm -f "$part"/*.tar.* "$part"/*.dsc
echo "${wanted[*]}" >"$part/.complete"
rm -rf "$folder"
mv "$part" "$folder"
