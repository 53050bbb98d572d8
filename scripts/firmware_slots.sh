#!/usr/bin/env bash
# firmware_slots.sh [BUILD]: a model replaced in a running image, on a Cortex-M55 and on RISC-V in QEMU, with the power going
# away at every step of the update: at least 200 tries on each board, after each of which the old or the new model must come
# up, whole. Images are signed and the new one is encrypted, with libsodium and mbedTLS built for the board from their sources
# (scripts/device_crypto_sources.sh), and before the tries updates with every kind of fault are refused; where this runnel cannot
# sign or encrypt, or the sources cannot be fetched, images are plain, which is said. BUILD (default: build) is a release build with tests; the boards' builds lie in BUILD/firmware. RUNNEL_BOARDS:
# other boards of firmware/boards.sh. RUNNEL_TRIES: more tries. Ends with 77 when a compiler or QEMU is missing
# (scripts/install.sh firmware).
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/firmware/boards.sh"
build=$(realpath -- "${1:-$root/build}")
read -ra boards <<<"${RUNNEL_BOARDS:-mps3-an547 virt-rv32imafc}"
runnel=$build/runnel digits=$build/models/digits/digits.rnl
for board in "${boards[@]}"; do
  missing=$(missing_for "$board")
  [[ -z $missing ]] || { say "SKIPPED WITHOUT ${missing//$'\n'/, }: scripts/install.sh firmware"; exit 77; }
done
other=$build/tests/embed/other.rnl
for file in "$runnel" "$digits" "$other"; do [[ -e $file ]] || die "$file is missing: configure with -D RUNNEL_TESTS=ON and build first"; done
work=$build/firmware/slots
rm -rf "$work"
mkdir -p "$work"
log=$work/embed.log
sources=${RUNNEL_CRYPTO_SOURCES:-$root/build-crypto-sources} secrets=1
if ! "$runnel" image keys -o "$work/maker" 2>"$log" >"$work/maker.h" || ! "$runnel" image keys -o "$work/stranger" 2>>"$log" >"$work/stranger.h"; then
  say "SKIPPED: signatures and encrypted models: $(tail -n 1 "$log")"
  secrets=0
elif ! timeout 300 "$root/scripts/device_crypto_sources.sh" "$sources" 2>"$work/sources.log"; then
  say "SKIPPED: signatures and encrypted models: the sources of libsodium and mbedTLS cannot be fetched: $(tail -n 1 "$work/sources.log")"
  secrets=0
fi
made() { "$runnel" "$@" 2>"$log" >"$log.out" || die "$(cat "$log")"; }   # ARGUMENT...
image() {   # NAME [ARGUMENT]...: of the other model, as an update
  local name=$1
  shift
  made image make "$other" --profile "$work/apart/apart.profile.json" --model-version 2 -o "$work/apart/$name.rnli" "$@"
}
embed=(embed "$digits" -o "$work/apart" --name apart --model-partition --profile "$other")
settings=()
if [[ $secrets -eq 1 ]]; then
  made "${embed[@]}" --key "$work/maker.key"
  secret=0f1e2d3c4b5a69788796a5b4c3d2e1f0
  echo "$secret" >"$work/secret"
  image new --key "$work/maker.key" --encrypt "$work/secret"
  image plain
  made sign "$work/apart/plain.rnli" --key "$work/maker.key"
  image unsigned
  image foreign --key "$work/stranger.key"
  made image make "$other" --profile "$work/apart/apart.profile.json" --model-version 0 -o "$work/apart/ancient.rnli"
  made sign "$work/apart/ancient.rnli" --key "$work/maker.key"   # the desk's verb signs images as well
  bytes_of() { sed 's/../0x&, /g' <<<"$1"; }   # HEXADECIMAL DIGITS
  mkdir -p "$work/apart/keys"
  cat >"$work/apart/keys/slots_keys.h" <<END
#pragma once
#include "firmware/slots/crypto/secrets.h"
inline constexpr std::uint8_t kMakersKey[32] = {$(bytes_of "$(cat "$work/maker.pub")")};
inline constexpr std::uint8_t kOthersKey[32] = {$(bytes_of "$(cat "$work/stranger.pub")")};
inline constexpr runnel::firmware::Cipher kSecret = {{$(bytes_of "$secret")}};
END
  settings=(-D "RUNNEL_CRYPTO_SOURCES=$sources")
else
  made "${embed[@]}"
  image new
fi
mv "$work/apart/digits.rnli" "$work/apart/old.rnli"

source "$root/firmware/elf_checks.sh"
answers=""
for board in "${boards[@]}"; do
  folder=$build/firmware/slots_$board
  if ! { cmake -S "$root" -B "$folder" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$(toolchain_of "$board")" -D CMAKE_BUILD_TYPE=Release -D RUNNEL_BOARD="$board" -D RUNNEL_SLOTS_PROGRAM="$work/apart" -U RUNNEL_CRYPTO_SOURCES ${settings[@]+"${settings[@]}"} &&
         cmake --build "$folder" --parallel "$jobs" --target slots_image; } >"$folder.log" 2>&1; then
    cat "$folder.log" >&2
    die "$board: the build failed"
  fi
  image=$folder/firmware/slots_image.elf
  tools=$(prefix_of "$board")
  check_image "$image"
  status=0
  emulate "$board" "$image" "arg=slots,arg=tries=${RUNNEL_TRIES:-200}" >"$work/$board.log" 2>&1 || status=$?
  line=$(tail -n 1 "$work/$board.log")
  ((status == 0)) || die "$board: code $status: $line"
  number() { sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" <<<"$line"; }
  (($(number tries) >= 200 && $(number boots) == $(number tries) && $(number old) + $(number new) == $(number tries) && $(number old) > 50 && $(number new) > 0 && (secrets == 0 || $(number refused) >= 23))) || die "$board: $line"
  [[ -z $answers || $answers == "$(number answer_old) $(number answer_new)" ]] || die "$board: the models give other bytes than on ${boards[0]}: $line"
  answers="$(number answer_old) $(number answer_new)"
  say "$board: $line"
done
