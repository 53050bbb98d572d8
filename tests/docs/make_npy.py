#!/usr/bin/env python3
"""make_npy.py OUT.npy TYPE AxBxC SOURCE [COLUMNS]: an array from raw values, or from columns (first..last, from 1) of a .csv file whose lines are frames;
of a table, the frames of each clip become the last axis."""
import array
import sys

out, kind, shape, source = sys.argv[1:5]
shape = tuple(int(size) for size in shape.split("x"))
count = 1
for size in shape:
    count *= size
if source.endswith(".csv"):
    first, last = (int(number) for number in sys.argv[5].split(".."))
    clips, channels, frames = shape
    rows = [line.split(",")[first - 1:last] for line in open(source).read().split()[1:]]
    values = array.array("f", [float(rows[clip * frames + frame][channel]) for clip in range(clips) for channel in range(channels) for frame in range(frames)])
    data = values.tobytes()
else:
    with open(source, "rb") as file:
        data = file.read(count * int(kind[-1]))
header = str({"descr": kind, "fortran_order": False, "shape": shape})
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(out, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data)
