// Files of statistics for the node cmvn: means and standard deviations of training. They are read where a
// graph's text is read, and stand in it as numbers from then on: what is stored in a model, or runs on a
// device, needs no file.
//
// * JSON: {"mean": [..], "std": [..]}, or an object of such objects ({"fbank": {..}, "mfcc": {..}}), one of
// which `section` names.
// * Kaldi's matrix of sums, text or binary, alone or after keys (an archive, one of whose keys `section`
// names): a row of sums and the
//   count of frames, a row of sums of squares and 0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/host/text.h"

namespace runnel::pipeline {

struct TrainingStatistics {
  std::vector<double> mean, deviation;  // one per dimension; deviations above 0
};

// `section`: empty for the only one there is. Errors: not_found for a file or section that is not there (with
// those that are); invalid_data with the place, what was expected and found.
Result<TrainingStatistics> read_statistics_file(const std::string& path, std::string_view section);
// Of the bytes of such a file.
Result<TrainingStatistics> read_statistics(std::string_view bytes, std::string_view section);

// Every `cmvn file=PATH section=NAME` becomes `cmvn mean=.. deviation=..`; with variance=false without
// deviation. Errors: those above with the position in `text`, which `graph` was made of; invalid_argument for
// file= beside mean=, deviation= or another mode.
Status replace_statistics_files(GraphText& graph, std::string_view text);

}  // namespace runnel::pipeline
