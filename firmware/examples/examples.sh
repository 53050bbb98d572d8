# The example nodes, for scripts/firmware_nodes.sh. Models of the test data are read from there, never copied.
# Of a model file, what it says about itself: "front end" or "decision".
stored() { "$runnel" inspect "$1" 2>/dev/null | sed -n "s/^  $2  *//p" | head -n 1; }

if [[ -n $data ]]; then
  # Keywords: the bundled digits model over a recording of 90 s.
  digits=$build/models/digits/digits.rnl
  example digits "$digits" "$data/digits/stitched_90s.wav" "wav path='$data/digits/stitched_90s.wav'" "$(stored "$digits" "front end")" "$(stored "$digits" decision)" --step
  brief_of[digits]=$data/digits/eval_wav/000_0_george_0.wav

  # A wake word of microWakeWord, in its fixed-point front end.
  wake=$work/wake.rnl
  "$runnel" import "$data/models/mww/hey_mycroft.json" -o "$wake" 2>/dev/null
  said=$data/models/openwakeword/hey_mycroft_test.wav
  example wake "$wake" "$said" "wav path='$said'" "$(stored "$wake" "front end")" "$(stored "$wake" decision)"

  # Motion: accelerometer and gyroscope, 6 channels, 50 samples a second.
  motion=$work/motion.rnl walk=$data/trained/har/stream_50hz.csv
  "$runnel" import "$data/trained/har/H1.onnx" -o "$motion" --shape feats=1x6x128 2>/dev/null
  example motion "$motion" "$walk" "csv path='$walk' rate=50" "cmvn mean=0 deviation=1" "detect smoothing_frames=8 threshold=0.6 release=0.4 refractory_frames=8" --channels 6 --sample-rate 50

  # Signals of a plant: a float classifier of windows of 100 samples, on a recording that is made up.
  plant=$work/plant.rnl leaf=$work/leaf.csv
  awk 'BEGIN { print "mV"; for (i = 0; i < 3000; i++) printf "%.4f\n", 0.2 * sin(i / 40) + (i % 700 < 150 ? exp(-(i % 700) / 30) * sin(i / 3) : 0) }' >"$leaf"
  "$runnel" import "$data/executorch/mbedtfo_cnn_trained.pte" -o "$plant" --usage window --window 100 --hop 50 2>/dev/null
  example plant "$plant" "$leaf" "csv path='$leaf' rate=10" "cmvn mean=0 deviation=1" "detect activation=none smoothing_frames=1 threshold=0.6 release=0.5 refractory_frames=1 labels=calm,stimulus" \
    --sample-rate 10 --samples float32
fi

# Vibration: the bundled model over a machine that is made up, 4000 samples a second.
vibration=$build/models/vibration/vibration.rnl
if [[ -f $vibration ]]; then
  shaft=$work/shaft.csv
  awk 'BEGIN { print "g"; for (i = 0; i < 40000; i++) printf "%.5f\n", (i < 8000 ? 0.01 : 0.2) * sin(i * 0.15) + (i > 20000 ? 0.3 * sin(i * 0.3) : 0) + 0.002 * sin(i * i * 0.37) }' >"$shaft"
  "$runnel" run "csv path='$shaft' rate=4000 ! wav path='$work/shaft.wav'" >/dev/null
  example vibration "$vibration" "$work/shaft.wav" "wav path='$work/shaft.wav'" "$(stored "$vibration" "front end")" "$(stored "$vibration" decision)" --step
fi
