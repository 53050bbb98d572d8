// Files of statistics for the node cmvn: means and standard deviations of training. They are read when the
// text of a graph is read, and replaced by numbers there: a graph stored in a model or on a device needs no
// file.
//
// * JSON: {"mean": [..], "std": [..]}, or an object of such objects ({"fbank": {..}, "mfcc": {..}}), one of
//   which `section` names.
// * Kaldi's matrix of sums, text or binary, alone or after keys (an archive, one of whose keys `section`
//   names): a row of sums and the count of frames, a row of sums of squares and 0.
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

// `section`: empty if the file has only one. Errors: not_found for a missing file or section (with the
// existing ones); invalid_data with the place, what was expected and found.
Result<TrainingStatistics> read_statistics_file(const std::string& path, std::string_view section);
// Reads the bytes of such a file.
Result<TrainingStatistics> read_statistics(std::string_view bytes, std::string_view section);

// Every `cmvn file=PATH section=NAME` becomes `cmvn mean=.. deviation=..`; with variance=false without
// deviation. Errors: those above with the position in `text`, which `graph` was made of; invalid_argument for
// file= together with mean=, deviation= or another mode.
Status replace_statistics_files(GraphText& graph, std::string_view text);

}  // namespace runnel::pipeline
