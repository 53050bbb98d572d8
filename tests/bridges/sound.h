// Sound for the tests of bridges, and what the program hears in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/wav.h"

namespace runnel::bridges::test {

// The bundled model of digits, as a path.
std::string digits();
// A decision that finds something in any sound.
inline constexpr const char* kEager =
    "detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=\"\"";

// Tones of changing pitch with pauses, mono.
std::vector<std::int16_t> tones(double seconds, int rate = 16000);
using runnel::test::write_wav;

// The lines of events that `runnel listen digits --wav` prints about a file with further arguments, whose
// source is then `source`.
std::string program_hears(const std::filesystem::path& wav, const std::vector<std::string>& more = {},
                          const std::string& source = "samples");
// The same about samples, with the eager decision.
std::string program_hears(const std::vector<std::int16_t>& samples, int rate = 16000, int channels = 1);

}  // namespace runnel::bridges::test
