# The example nodes, for scripts/firmware_nodes.sh. Models of the test data are read from there, never copied.
# The "front end" or "decision" stored in a model file.
stored() { "$runnel" inspect "$1" 2>/dev/null | sed -n "s/^  $2  *//p" | head -n 1; }
little_endian() { printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24)))"; }
# Joins .wav files of one format with headers of 44 bytes, at most MOST bytes of samples from each.
joined_wav() {   # OUTPUT MOST INPUT...
  local output=$1 most=$2 bytes
  shift 2
  for one in "$@"; do
    [[ $(dd if="$one" bs=1 skip=36 count=4 status=none) == data ]] || die "$one: expected a header of 44 bytes"
    head -c $((most + 44)) "$one" | tail -c +45
  done >"$output.samples"
  bytes=$(stat -c %s "$output.samples")
  { printf RIFF; little_endian $((bytes + 36)); head -c 40 "$1" | tail -c +9; little_endian "$bytes"; cat "$output.samples"; } >"$output"
}

if [[ -n $data ]]; then
  # Keywords: the bundled digits model over the first 12 s of a recording of words; RUNNEL_LONG=1: over all of its 90 s.
  digits=$build/models/digits/digits.rnl words=$data/digits/stitched_90s.wav
  if [[ ${RUNNEL_LONG:-0} != 1 ]]; then
    joined_wav "$work/words.wav" 384000 "$words"
    words=$work/words.wav
  fi
  example digits "$digits" "$words" "wav path='$words'" "$(stored "$digits" "front end")" "$(stored "$digits" decision)" --step
  brief_of[digits]=$data/digits/eval_wav/000_0_george_0.wav

  # A transducer: the digits model as its compiled encoder, and a decoder and a joiner that the tests of this build have made.
  parts=$build/tests/embed/transducer
  if [[ -f $parts/joiner.onnx ]]; then
    example transducer "$digits" "$words" "wav path='$words'" "$(stored "$digits" "front end")" "transducer joiner='$parts/joiner.onnx' decoder='$parts/decoder.onnx' blank=silence units=words partials=0 silence_after=0.2 max_tokens=3" --step
    brief_of[transducer]=${brief_of[digits]} only_on[transducer]="mps2-an386 mps2-an500 mps3-an547 virt-rv32imafc"
  fi

  # A wake word of microWakeWord, in its fixed-point front end.
  wake=$work/wake.rnl
  "$runnel" import "$data/models/mww/hey_mycroft.json" -o "$wake" 2>/dev/null
  said=$data/models/openwakeword/hey_mycroft_test.wav
  example wake "$wake" "$said" "wav path='$said'" "$(stored "$wake" "front end")" "$(stored "$wake" decision)"

  # Motion: accelerometer and gyroscope, 6 channels, 50 samples a second.
  motion=$work/motion.rnl walk=$data/trained/har/stream_50hz.csv
  "$runnel" import "$data/trained/har/H1.onnx" -o "$motion" --shape feats=1x6x128 2>/dev/null
  example motion "$motion" "$walk" "csv path='$walk' rate=50" "cmvn mean=0 deviation=1" "detect smoothing_frames=8 threshold=0.6 release=0.4 refractory_frames=8" --channels 6 --sample-rate 50

  # Signals of a plant: classifiers of windows of 100 samples and a recurrent one of 5, on a synthetic recording in
  # millivolts. One of them in integers, calibrated with other such signals.
  leaf_of() {   # OUTPUT SAMPLES GAIN: a slow drift, and every 70 s a decaying response
    awk -v count="$2" -v gain="$3" 'BEGIN { print "mV"; for (i = 0; i < count; i++) printf "%.4f\n", gain * (0.2 * sin(i / 40) + (i % 700 < 150 ? exp(-(i % 700) / 30) * sin(i / 3) : 0)) }' >"$1"
  }
  leaf=$work/leaf.csv calibration=$work/leaf_calibration.csv
  leaf_of "$leaf" 1500 50
  leaf_of "$calibration" 6000 55
  plant_example() {   # NAME MODEL DECISION
    example "$1" "$2" "$leaf" "csv path='$leaf' rate=10" "cmvn mean=0 deviation=1" "detect activation=none smoothing_frames=1 refractory_frames=1 $3" --sample-rate 10 --samples float32
  }
  answers="release=0.52 labels=calm,stimulus ignore=calm"
  "$runnel" import "$data/executorch/mbedtfo_cnn_trained.pte" -o "$work/plant.rnl" --usage window --window 100 --hop 50 2>/dev/null
  plant_example plant "$work/plant.rnl" "threshold=0.6 $answers"
  "$runnel" import "$data/executorch/mbedtfo_fcn.pte" -o "$work/plant_fcn.rnl" --usage window --window 100 --hop 50 2>/dev/null
  plant_example plant_fcn "$work/plant_fcn.rnl" "threshold=0.55 $answers"
  "$runnel" import "$data/executorch/mbedtfo_lstm.pte" -o "$work/plant_lstm.rnl" --usage step --step 5 2>/dev/null
  plant_example plant_lstm "$work/plant_lstm.rnl" "threshold=0.6 release=0.5 labels=a,b,c"
  "$runnel" quantize "$data/executorch/mbedtfo_cnn_trained.pte" --calib "$calibration" -o "$work/plant_int8.rnl" --window 100 --hop 50 --quiet 2>/dev/null
  plant_example plant_int8 "$work/plant_int8.rnl" "threshold=0.6 $answers"
fi

# Vibration: the bundled model on a synthetic machine, 4000 samples a second.
vibration=$build/models/vibration/vibration.rnl
if [[ -f $vibration ]]; then
  shaft=$work/shaft.wav made=$build/recordings/vibration
  joined_wav "$shaft" 1000000 "$made"/stopped_0.wav "$made"/balanced_0.wav "$made"/imbalance_0.wav "$made"/balanced_1.wav "$made"/bearing_0.wav "$made"/misalignment_0.wav
  example vibration "$vibration" "$shaft" "wav path='$shaft'" "$(stored "$vibration" "front end")" "$(stored "$vibration" decision)" --step
fi

# Voice: the bundled voice detector, on phrases with pauses between them.
voice=$build/models/vad/vad.rnl
if [[ -f $voice ]]; then
  said=$root/tests/models/commands.wav
  example voice "$voice" "$said" "wav path='$said'" "$(stored "$voice" "front end")" "$(stored "$voice" decision)" --step
  only_on[voice]="mps2-an386 mps2-an500 mps3-an547"
fi

# Phrase: the bundled wake word, on what its test has: the phrase among others.
phrase=$build/models/wake/wake.rnl
if [[ -f $phrase ]]; then
  said=$root/tests/models/wake.wav
  example phrase "$phrase" "$said" "wav path='$said'" "$(stored "$phrase" "front end")" "$(stored "$phrase" decision)" --step
  only_on[phrase]="mps2-an386 mps2-an500 mps3-an547"
fi

# Machines: the bundled classifier and detector of anomalies, on a machine that is stopped, healthy and out of balance.
for kind in machine anomaly; do
  model=$build/models/$kind/$kind.rnl
  [[ -f $model ]] || continue
  heard=$work/machines.wav
  joined_wav "$heard" 72000 "$root/tests/models/machines.wav"
  example "$kind" "$model" "$heard" "wav path='$heard'" "$(stored "$model" "front end")" "$(stored "$model" decision)" --step
  only_on[$kind]="mps2-an386 mps2-an500 mps3-an547"
done

# Denoise: the bundled noise filter, compiled; what comes out is sound.
denoise=$build/models/denoise/denoise.rnl
if [[ -f $denoise ]]; then
  said=$root/tests/models/commands.wav
  example denoise "$denoise" "$said" "wav path='$said'" "$(stored "$denoise" "front end")" "$(stored "$denoise" decision)" --step
  only_on[denoise]="mps2-an500"
fi

# Commands: the bundled recogniser, compiled, with its words and grammar in flash. The node fits 512 KiB; the image that is observed has
# 50 KB of test rig more, so mps3-an547 does not link it.
commands=$build/models/commands/commands.rnl
if [[ -f $commands ]]; then
  said=$root/tests/models/commands.wav words_of=$root/models/commands
  example commands "$commands" "$said" "wav path='$said'" "$(stored "$commands" "front end")" \
    "ctc mode=beam beam=8 silence_after=0.7 partials=0 max_tokens=64 lexicon='$words_of/lexicon.txt' grammar='$words_of/grammar.txt'" --step
  only_on[commands]=mps2-an386 too_large_for[commands]=mps3-an547
fi
