// Kaldi's matrices of statistics (compute-cmvn-stats).
#pragma once

#include <string_view>

#include "pipeline/host/statistics/statistics_file.h"

namespace runnel::pipeline {

// The first matrix of `bytes`, or the one after the key `section`. Errors: as read_statistics().
Result<TrainingStatistics> read_kaldi_statistics(std::string_view bytes, std::string_view section);

}  // namespace runnel::pipeline
