// One line in, one line out: for engines that feed processes (RDD.pipe of Spark, Hadoop streaming, GNU
// parallel --pipe, xargs).
#pragma once

#include <string>
#include <string_view>

#include "services/batch/run.h"

namespace runnel::batch {

// The answer to one line (a path, or an object as in a manifest): one JSON object with its newline,
//
//     {"source":"a.wav","audio_seconds":1.500,"events":[{"type":"event",...},...]}
//
// with `error` instead of a failed recording's reason, `id` and `fields` where the line has them. Any line
// gets an answer. `totals` counts it.
std::string answer(std::string_view line, Worker& worker, Totals& totals);

}  // namespace runnel::batch
