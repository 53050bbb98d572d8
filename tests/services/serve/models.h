// Small models for streams.
#pragma once

#include <filesystem>
#include <string>

#include "inference/model/usage.h"

namespace runnel::serve::test {

// A model of 40 features that runs in steps with a state, in windows, or over a clip, as a file in `folder`.
std::string model_of(UsageKind kind, const std::filesystem::path& folder);

}  // namespace runnel::serve::test
