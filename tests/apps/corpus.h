// Recordings as a data team has them: of all rates, channels, formats and lengths, and some of them broken.
#pragma once

#include <cstdint>
#include <filesystem>

namespace runnel::apps::test {

struct CorpusFacts {
  std::int64_t recordings = 0;  // all, the broken ones included
  std::int64_t broken = 0;      // in one of kWaysToBreak ways
  std::int64_t empty = 0;       // sound, but without a sample: failures, too
  double audio_seconds = 0;     // of those that are sound
  double broken_seconds = 0;    // at most so much is in the broken ones before where they break
  std::uintmax_t bytes = 0;
};

inline constexpr int kWaysToBreak = 12;

// Makes `count` recordings in folders below `folder`, the same from the same seed: at most 8 hours and 2 GB
// for 20,000 of them, one of 30 minutes among them.
CorpusFacts make_corpus(const std::filesystem::path& folder, std::int64_t count, unsigned seed);

}  // namespace runnel::apps::test
