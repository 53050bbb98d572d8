#!/bin/bash
# Every rank is a shard; ranks do not talk to each other.
#
#     mpirun.sh MODEL RECORDINGS FOLDER RANKS [ARGUMENTS OF mpirun...]
set -uo pipefail
model=$1 recordings=$2 folder=$3 ranks=$4
shift 4
mkdir -p "$folder"
# The exit code of a rank is 1 when a recording failed; mpirun would end the others. Merging checks that all is there.
mpirun -n "$ranks" "$@" sh -c 'runnel batch "$1" "$2" -o "$3/shard-{shard}.jsonl" --resume --jobs 1 || test -f "$3/shard-$OMPI_COMM_WORLD_RANK.jsonl"' - "$model" "$recordings" "$folder"
runnel merge "$folder"/shard-*.jsonl -o "$folder/all.jsonl"
