# Flips bits of the model inside a flash image, one at a time, and expects each to be refused as invalid data; for
# scripts/firmware_nodes.sh.
elf=$(image "$board" "$name" observed)
address=$("${tools:-arm-none-eabi-}nm" "$elf" | grep " runnel_${name}_model$" | cut -d ' ' -f 1)
[[ -n $address ]] || die "$elf: no model in it"
read -r start offset < <("${tools:-arm-none-eabi-}readelf" -lW "$elf" | awk '$1 == "LOAD" && $6 !~ /^0x0+$/ {print $3, $2; exit}')
model_bytes=$(sed -n 's/^#define RUNNEL_.*_MODEL_BYTES //p' "$embedded/$name/$name.h")
for at in 2000 $((model_bytes / 3)) $((model_bytes / 2)) $((model_bytes - 200)); do
  cp "$elf" "$work/damaged.elf"
  place=$((16#$address - start + offset + at))
  byte=$(od -An -tu1 -j"$place" -N1 "$elf")
  printf "$(printf '\\x%02x' $((byte ^ 16)))" | dd of="$work/damaged.elf" bs=1 seek="$place" conv=notrunc status=none
  status=0
  "$root/scripts/run_on_board.sh" "$board" "$work/damaged.elf" "${recording_of[$name]}" "$work/fault" >"$work/fault.log" 2>&1 || status=$?
  [[ $status == 2 || $status == 3 ]] || failed "a flipped bit at byte $at of the model: code $status, expected 2 or 3: $(tail -n 1 "$work/fault.log")"
done
