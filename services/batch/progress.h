// The progress of a run as text.
#pragma once

#include <string>

#include "services/batch/run.h"

namespace runnel::batch {

// "1200 of 20000 recordings, 3 failed, 2.31 hours of sound, 812 times real time, 00:04:10 left"
std::string progress_text(const ProgressState& state);
// The same after a bar: "[######....................]  23 % ..."; at most `columns` wide.
std::string progress_bar(const ProgressState& state, int columns);

}  // namespace runnel::batch
