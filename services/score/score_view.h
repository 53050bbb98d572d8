// Scores for people: tables, and a picture.
#pragma once

#include <string>

#include "pipeline/host/picture/picture.h"
#include "services/score/score.h"

namespace runnel::pipeline {

// What was counted, the confusions (rows: truth, columns: found, "-": nothing) and the curve, as lines
// without a newline at the end.
std::string score_table(const Score& score);

// The confusions as a map, each row by the share of its truth, the first 64 labels; beside it misses against
// false accepts, from threshold to threshold.
Picture draw_score(const Score& score);

}  // namespace runnel::pipeline
