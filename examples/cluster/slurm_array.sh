#!/bin/bash
# A job array of Slurm: every task is a shard, a task that is requeued goes on where it was, and the last job joins.
#
#     slurm_array.sh MODEL RECORDINGS FOLDER TASKS
#
# RECORDINGS: a folder, pattern, manifest or @list that every node sees under the same name. FOLDER: where shards and the result go.
set -euo pipefail
model=$1 recordings=$2 folder=$3 tasks=$4
mkdir -p "$folder"
array=$(sbatch --parsable --requeue --array="0-$((tasks - 1))" --output="$folder/%a.log" --wrap \
  "runnel batch '$model' '$recordings' -o '$folder/shard-{shard}.jsonl' --resume --jobs \${SLURM_CPUS_PER_TASK:-1}")
# A recording that failed is an exit code of 1 but no reason to lose the others: merge finds out itself whether all shards are complete.
sbatch --wait --dependency="afterany:$array" --output="$folder/merge.log" --wrap "runnel merge '$folder'/shard-*.jsonl -o '$folder/all.jsonl'"
