// Writes the facts of a detector as C++, for programs that have them as constants
// (pipeline/nodes/decide/rom_detect.h).
#pragma once

#include <string>
#include <string_view>

#include "pipeline/nodes/decide/detector.h"

namespace runnel::pipeline {

// A struct `name` with kFacts; the text needs pipeline/nodes/decide/rom_detect.h in front, in a scope
// where namespace runnel::pipeline is used.
std::string detector_source(const DetectorFacts& facts, std::string_view name);

}  // namespace runnel::pipeline
