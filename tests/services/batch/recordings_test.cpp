#include "services/batch/recordings/recordings.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace runnel::batch::test {
namespace {

void expect_same(const Recording& a, const Recording& b) {
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.fields, b.fields);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.duration, b.duration);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.modified, b.modified);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.named, b.named);
}

// Of every kind, long and short, with any bytes and any numbers.
std::vector<Recording> make_list(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
  std::vector<Recording> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    Recording& recording = list[i];
    recording.path = up_to(3) == 0 || i == 0 ? std::string(up_to(300), 'a')
                                             : list[i - 1].path.substr(0, up_to(list[i - 1].path.size()));
    for (std::uint64_t letters = up_to(20); letters > 0; --letters)
      recording.path += static_cast<char>(1 + up_to(254));
    recording.named = up_to(recording.path.size());
    if (up_to(1) == 0) recording.id = std::to_string(random());
    if (up_to(3) == 0)
      recording.fields = "{\"x\":\"" + std::string(up_to(100) == 0 ? 200000 : up_to(200), 'y') + "\"}";
    if (up_to(2) == 0) recording.offset = static_cast<double>(random()) * 1e-19;
    if (up_to(2) == 0) recording.duration = static_cast<double>(random()) * 1e-18;
    recording.bytes = up_to(9) == 0 ? -1 : static_cast<std::int64_t>(random() >> up_to(63) >> 1);
    recording.modified = static_cast<std::int64_t>(random() >> up_to(63));
    recording.index = static_cast<std::int64_t>(i * up_to(5));
  }
  return list;
}

TEST(Recordings, ComeOutAsTheyWentIn) {
  for (const std::size_t count : {0u, 1u, 15u, 16u, 17u, 1000u}) {
    SCOPED_TRACE(count);
    const std::vector<Recording> list = make_list(count, static_cast<unsigned>(count));
    const Recordings packed(list);
    ASSERT_EQ(packed.size(), count);
    EXPECT_EQ(packed.empty(), count == 0);
    std::size_t place = 0;
    for (const Recording& recording : packed) expect_same(recording, list[place++]);
    EXPECT_EQ(place, count);
    for (std::size_t i = count; i-- > 0;) expect_same(packed[i], list[i]);
  }
}

TEST(Recordings, TakeExtremeNumbers) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMax = std::numeric_limits<std::int64_t>::max();
  std::vector<Recording> list;
  for (const std::int64_t value : {kMax, kLeast, std::int64_t{0}, kMax, std::int64_t{-1}, kLeast}) {
    Recording recording;
    recording.path = "a";
    recording.bytes = recording.modified = recording.index = value;
    list.push_back(recording);
  }
  const Recordings packed(list);
  for (std::size_t i = 0; i < list.size(); ++i) expect_same(packed[i], list[i]);
}

TEST(Recordings, TakeTheirNamesAndLittleMore) {
  Recordings packed;
  Recording recording;
  for (int i = 0; i < 100000; ++i) {
    recording.path = "/data/recordings/of/last/year/" + std::to_string(1000000 + i) + ".wav";
    recording.named = 30;
    recording.bytes = 320044;
    recording.modified += 250000;
    recording.index = i;
    packed.push_back(recording);
  }
  EXPECT_LE(packed.memory_bytes(), 24u * packed.size());
}

}  // namespace
}  // namespace runnel::batch::test
