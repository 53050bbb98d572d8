#!/bin/bash
# A job array of Slurm: every task is a shard, a requeued task continues where it was, and the last job merges.
#
#     slurm_array.sh MODEL RECORDINGS FOLDER TASKS
#
# RECORDINGS: a folder, pattern, manifest or @list that every node sees under the same name. FOLDER: where shards and the result go.
set -euo pipefail
model=$1 recordings=$2 folder=$3 tasks=$4
mkdir -p "$folder"
array=$(sbatch --parsable --requeue --array="0-$((tasks - 1))" --output="$folder/%a.log" --wrap \
  "runnel batch '$model' '$recordings' -o '$folder/shard-{shard}.jsonl' --resume --jobs \${SLURM_CPUS_PER_TASK:-1}")
# A failed recording gives an exit code of 1 but must not lose the others: merge itself checks whether all shards are
# complete.
sbatch --wait --dependency="afterany:$array" --output="$folder/merge.log" --wrap "runnel merge '$folder'/shard-*.jsonl -o '$folder/all.jsonl'"
