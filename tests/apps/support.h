// What the tests of the program share: calling it, reading what it says, recordings to give it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/data.h"
#include "tests/support/wav.h"

namespace runnel::apps::test {

using Json = nlohmann::json;
using runnel::test::Output;

// The bundled model, built together with the program.
std::string model();

// Runs `runnel ARGUMENTS`, with any result.
Output call(std::vector<std::string> arguments);
// The same; a test failure unless the exit code is 0 and stderr holds nothing but lines of talk.
Output call_well(std::vector<std::string> arguments);
// Expects a refusal: an exit code other than 0, lines that start with "runnel: " on stderr, the last of which
// holds `sentence`. Gives that last line.
std::string refusal(std::vector<std::string> arguments, const std::string& sentence);

// One JSON object per line; anything else is a test failure.
std::vector<Json> json_lines(const std::string& text);
// The events among them, without their source.
std::vector<Json> events_of(const std::string& text);
// Checks the last line and the keys of all others as documented, and gives the last one, the summary.
Json expect_records(const std::string& text);

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);
// Names in a folder, sorted.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// Bursts of tones of changing pitch with pauses between them, at 16 bits: something to decide about.
std::vector<std::int16_t> tone_words(double seconds, int rate);
using runnel::test::wav_bytes;
using runnel::test::write_wav;

// A decision that finds something in any sound: every label counts.
inline constexpr const char* kEager =
    "detect threshold=0.4 release=0.3 smoothing_frames=10 refractory_frames=10 ignore=\"\"";

}  // namespace runnel::apps::test
