#!/usr/bin/env python3
"""wav_to_csv.py FILE.wav: its samples as a table with one column x."""
import struct
import sys
import wave

with wave.open(sys.argv[1]) as recording:
    data = recording.readframes(recording.getnframes())
print("x")
for (sample,) in struct.iter_unpack("<h", data):
    print(sample / 32768)
