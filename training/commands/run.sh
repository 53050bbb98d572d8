#!/bin/bash
# Trains the model "commands" for so many seconds, from where the last call stopped; with `finish` the rate falls to its end in them.
# usage: RUNNEL_SPEECH=FOLDER run.sh SECONDS [WORK_FOLDER [finish]]     (RUNNEL_PROGRAM: the program, if it is not build/runnel)
set -euo pipefail
seconds=${1:?usage: run.sh SECONDS [WORK_FOLDER [finish]]}
here=$(cd "$(dirname "$0")" && pwd)
work=${2:-$here/../../build/training/commands}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
kit=$here/../kit
mkdir -p "$work"
[ -e "$work/synthetic.npy" ] || /usr/bin/python3 "$kit/collect.py" "$here/commands.toml" "$work"
for pass in 0 1 2 3 4 5; do
  [ -e "$work/shard_0$pass.npz" ] || /usr/bin/python3 "$kit/render.py" "$here/commands.toml" "$work" $pass
done
/usr/bin/python3 "$kit/train.py" "$here/commands.toml" "$work" "$seconds" ${3:+"$3"}
