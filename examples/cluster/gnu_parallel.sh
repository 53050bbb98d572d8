#!/bin/bash
# Shards under GNU parallel, on this machine or, with --sshlogin, on others with the same files. Can be run again:
# complete shards stay.
#
#     gnu_parallel.sh MODEL RECORDINGS FOLDER SHARDS [ARGUMENTS OF parallel...]
set -uo pipefail
model=$1 recordings=$2 folder=$3 shards=$4
shift 4
mkdir -p "$folder"
# Exit codes also count failed recordings; merging checks that all shards are complete.
seq 0 $((shards - 1)) | parallel --quote "$@" runnel batch "$model" "$recordings" -o "$folder/shard-{shard}.jsonl" --resume --jobs 1 --shard "{}/$shards"
runnel merge "$folder"/shard-*.jsonl -o "$folder/all.jsonl"
