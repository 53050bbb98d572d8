// Damaged recordings and forged headers.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>

#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;

class DamagedRecording : public testing::Test {
 protected:
  Status feed(const Bytes& bytes, std::string_view parameters = {}) {
    const std::filesystem::path path = folder_.path() / "a.wav";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return feed_recording(path, parameters);
  }
  // The header's field at `offset` replaced.
  template <class T>
  static Bytes with(Bytes bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
    return bytes;
  }
  TemporaryFolder folder_;
};

TEST_F(DamagedRecording, EveryTruncationIsRefused) {
  for (const Bytes& file : {short_wav(), float_wav()}) {
    ASSERT_TRUE(feed(file).ok());
    for (std::size_t size = 0; size < file.size(); ++size) {
      const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_TRUE(failed_with_a_sentence(feed(cut))) << size << " of " << file.size() << " bytes";
      if (size % 7 == 0) failed_with_a_sentence(feed(cut, "truncated=accept"));
    }
  }
}

TEST_F(DamagedRecording, Mutations) {
  const Bytes file = short_wav(), floats = float_wav();
  // Damages the head alone, more often than in the whole file.
  const Bytes file_head(file.begin(), file.begin() + 60), floats_head(floats.begin(), floats.begin() + 60);
  Mutator whole(file, 21), float_whole(floats, 22), head(file_head, 23), float_head(floats_head, 24);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes;
    switch (i % 4) {
      case 0:
        bytes = whole.next();
        break;
      case 1:
        bytes = float_whole.next();
        break;
      default: {
        bytes = i % 4 == 2 ? head.next() : float_head.next();
        const Bytes& rest = i % 4 == 2 ? file : floats;
        bytes.insert(bytes.end(), rest.begin() + 60, rest.end());
      }
    }
    static constexpr std::string_view kParameters[] = {"", "truncated=accept", "nan=zero",
                                                       "truncated=accept nan=zero"};
    refused += failed_with_a_sentence(feed(bytes, kParameters[i / 4 % 4])) ? 1 : 0;
  }
  EXPECT_GT(refused, 2000);
  EXPECT_LT(refused, 20000);
}

TEST_F(DamagedRecording, HeadersThatLie) {
  const Bytes file = short_wav();
  EXPECT_TRUE(failed_with_a_sentence(feed(with<std::uint16_t>(file, 22, 0)))) << "no channels";
  EXPECT_TRUE(failed_with_a_sentence(feed(with<std::uint32_t>(file, 24, 0)))) << "no sample rate";
  EXPECT_TRUE(failed_with_a_sentence(feed(with<std::uint32_t>(file, 40, 32000))))
      << "more samples than there are";
  EXPECT_TRUE(failed_with_a_sentence(feed(with<std::uint16_t>(file, 20, 0x4242)))) << "an unknown encoding";
  EXPECT_TRUE(failed_with_a_sentence(feed(with<std::uint16_t>(file, 34, 0)))) << "samples of no bits";
  failed_with_a_sentence(feed(with<std::uint16_t>(file, 22, 65535)));
  failed_with_a_sentence(feed(with<std::uint32_t>(file, 24, 0xFFFFFFFF)));
  failed_with_a_sentence(feed(with<std::uint32_t>(file, 40, 0xFFFFFFFF)));
}

TEST_F(DamagedRecording, SamplesThatAreNoNumbers) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Bytes file = with(float_wav(), 44 + 4 * 777, value);
    const Status status = feed(file);
    EXPECT_TRUE(failed_with_a_sentence(status));
    EXPECT_NE(status.text().find("sample 777"), std::string_view::npos) << status.text();
    EXPECT_TRUE(feed(file, "nan=zero").ok());
  }
}

}  // namespace
}  // namespace runnel::test
