# The example nodes, for scripts/firmware_nodes.sh. Models of the test data are read from there, never copied.
digits_front=$(sed -n 's/^\(fbank .*\)$/\1/p' "$root/models/digits/digits.rnlg")
digits_decision=$(sed -n 's/^! \(detect .*\)$/\1/p' "$root/models/digits/digits.rnlg")
if [[ -n $data ]]; then
  # Keywords: the bundled digits model over a recording of 90 s.
  example digits "$build/models/digits/digits.rnl" "$data/digits/stitched_90s.wav" "wav path='$data/digits/stitched_90s.wav'" "$digits_front" "$digits_decision"
fi
