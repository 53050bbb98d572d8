// One line in, one line out, for engines that feed processes (Spark's RDD.pipe, Hadoop streaming, GNU
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
// with `error`, the reason, if the recording failed, and `id` and `fields` if the line has them. Every line
// gets an answer. `totals` counts it.
std::string answer(std::string_view line, Worker& worker, Totals& totals);

}  // namespace runnel::batch
