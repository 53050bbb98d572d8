// Damaged texts of graphs.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"

namespace runnel::test {
namespace {

TEST(DamagedGraph, OriginalsRun) {
  for (const std::string& text : graph_texts()) {
    const Status status = feed_graph(text);
    EXPECT_TRUE(status.ok()) << text << ": " << status.text();
  }
}

TEST(DamagedGraph, EveryTruncation) {
  for (const std::string& text : graph_texts()) {
    for (std::size_t size = 0; size < text.size(); ++size)
      failed_with_a_sentence(feed_graph(std::string_view(text).substr(0, size)));
  }
}

TEST(DamagedGraph, Mutations) {
  // Random bytes rarely get far; words and characters of the language do.
  static constexpr std::string_view kPieces[] = {" ! ",
                                                 "!",
                                                 "=",
                                                 ".",
                                                 "name=",
                                                 "f. ! ",
                                                 "'",
                                                 "\"",
                                                 "\\",
                                                 "#",
                                                 "\n",
                                                 " ",
                                                 "silence",
                                                 "fbank",
                                                 "detect",
                                                 "resample",
                                                 "null",
                                                 "infer",
                                                 "model=",
                                                 "rate=",
                                                 "-1",
                                                 "0",
                                                 "1e308",
                                                 "nan",
                                                 "99999999999999999999",
                                                 "1000000000",
                                                 "ms",
                                                 "kHz",
                                                 "true",
                                                 "preset=",
                                                 "num_mel_bins=",
                                                 "frame_length=",
                                                 "frame_shift=",
                                                 "n_fft=",
                                                 "kind=mfcc",
                                                 "chunk=",
                                                 "smoothing_frames=",
                                                 "num_ceps=",
                                                 "low_freq=",
                                                 "high_freq=",
                                                 "\xff",
                                                 "\xc3"};
  std::mt19937_64 random(31);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  const std::vector<std::string> originals = graph_texts();
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = originals[below(originals.size())];
    for (std::size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = below(text.size());
      const std::string_view piece = kPieces[below(std::size(kPieces))];
      switch (below(6)) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + below(12));
          break;
        case 2:
          text.insert(at, piece);
          break;
        case 3:
          text.replace(at, piece.size(), piece);
          break;
        case 4: {  // a value
          const std::size_t equals = text.find('=', at);
          if (equals != std::string::npos) text.replace(equals + 1, 1 + below(5), piece);
          break;
        }
        default:
          text.insert(at, text.substr(below(text.size()), 1 + below(40)));
      }
    }
    refused += failed_with_a_sentence(feed_graph(text)) ? 1 : 0;
  }
  EXPECT_GT(refused, 10000);
  EXPECT_LT(refused, 20000);
}

}  // namespace
}  // namespace runnel::test
