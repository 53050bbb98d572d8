// Scores as tables and as a picture.
#pragma once

#include <string>

#include "pipeline/host/picture/picture.h"
#include "services/score/score.h"

namespace runnel::pipeline {

// The counts, the confusion matrix (rows: truth, columns: found, "-": none) and the curve, as lines without a
// newline at the end.
std::string score_table(const Score& score);

// The confusion matrix as a map of the first 64 labels, each row normalised by its truth; beside it the curve
// of misses against false accepts.
Picture draw_score(const Score& score);

}  // namespace runnel::pipeline
