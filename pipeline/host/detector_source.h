// Writes the facts of a detector as C++ constants, for programs with a compiled-in decision
// (pipeline/nodes/decide/rom_detect.h).
#pragma once

#include <string>
#include <string_view>

#include "pipeline/nodes/decide/detector.h"

namespace runnel::pipeline {

// A struct `name` with kFacts; the text needs an include of pipeline/nodes/decide/rom_detect.h and a
// scope that uses namespace runnel::pipeline.
std::string detector_source(const DetectorFacts& facts, std::string_view name);

}  // namespace runnel::pipeline
