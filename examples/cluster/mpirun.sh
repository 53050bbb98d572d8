#!/bin/bash
# Every rank is a shard; ranks do not talk to each other.
#
#     mpirun.sh MODEL RECORDINGS FOLDER RANKS [ARGUMENTS OF mpirun...]
set -uo pipefail
model=$1 recordings=$2 folder=$3 ranks=$4
shift 4
mkdir -p "$folder"
# A failed recording makes a rank's exit code 1, and mpirun would end the others. Merging checks that all shards are
# complete.
mpirun -n "$ranks" "$@" sh -c 'runnel batch "$1" "$2" -o "$3/shard-{shard}.jsonl" --resume --jobs 1 || test -f "$3/shard-$OMPI_COMM_WORLD_RANK.jsonl"' - "$model" "$recordings" "$folder"
runnel merge "$folder"/shard-*.jsonl -o "$folder/all.jsonl"
