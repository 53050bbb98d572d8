#include "base/state_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace runnel::test {
namespace {

using testing::HasSubstr;

struct Part {
  double sum = 0;
  bool ready = false;
  template <class Archive>
  void state(Archive& archive) noexcept {
    archive.value(sum);
    archive.value(ready);
  }
};

struct Stream {
  std::int64_t position = 0;
  std::int32_t level = 0;
  std::size_t kept = 0;
  std::array<float, 4> samples{};
  std::int64_t twice = 0;  // follows from the position
  Part part;

  template <class Archive>
  void state(Archive& archive) noexcept {
    archive.index(position);
    archive.bounded(level, -3, 7);
    archive.count(kept, samples.size());
    if (archive.ok()) archive.values(std::span(samples).first(kept));
    archive.follows(twice, 2 * position, "the double");
    part.state(archive);
  }
};

std::vector<std::byte> saved(Stream& stream) {
  StateArchive measured = StateArchive::measuring();
  stream.state(measured);
  std::vector<std::byte> bytes(measured.bytes());
  StateArchive archive = StateArchive::saving(bytes);
  stream.state(archive);
  EXPECT_TRUE(archive.ok()) << archive.status().text();
  EXPECT_EQ(archive.left(), 0U);
  return bytes;
}

Status restored(Stream& stream, std::span<const std::byte> bytes) {
  StateArchive archive = StateArchive::restoring(bytes);
  stream.state(archive);
  return archive.status();
}

TEST(StateArchive, RestoresWhatItSaved) {
  Stream one;
  one.position = 0x0102030405;
  one.twice = 2 * one.position;
  one.level = -2;
  one.kept = 3;
  one.samples = {1.5F, -0.0F, std::numeric_limits<float>::quiet_NaN(), 9};
  one.part = {1e300, true};
  const std::vector<std::byte> bytes = saved(one);
  // Little-endian, without padding, and without what is not kept.
  EXPECT_EQ(bytes.size(), 8U + 4 + 8 + 3 * 4 + 8 + 1);
  EXPECT_EQ(bytes[0], std::byte{5});
  EXPECT_EQ(bytes[4], std::byte{1});
  EXPECT_EQ(bytes[8], std::byte{0xFE});
  Stream other;
  ASSERT_TRUE(restored(other, bytes).ok());
  EXPECT_EQ(other.position, one.position);
  EXPECT_EQ(other.twice, one.twice);
  EXPECT_EQ(other.level, -2);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(other.samples[1]), 0x80000000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(other.samples[2]), std::bit_cast<std::uint32_t>(one.samples[2]));
  EXPECT_EQ(other.samples[3], 0) << "not kept";
  EXPECT_EQ(other.part.sum, 1e300);
  EXPECT_TRUE(other.part.ready);
  EXPECT_EQ(saved(other), bytes);
}

TEST(StateArchive, RefusesWhatIsOutOfBounds) {
  Stream one;
  one.kept = 2;
  const std::vector<std::byte> bytes = saved(one);
  const auto refused = [&bytes](std::size_t at, std::uint8_t value) {
    std::vector<std::byte> changed = bytes;
    changed[at] = std::byte{value};
    Stream other;
    const Status status = restored(other, changed);
    EXPECT_EQ(status.code(), Code::invalid_data) << at;
    EXPECT_LE(other.kept, other.samples.size());
    return std::string(status.text());
  };
  EXPECT_THAT(refused(7, 0x80), HasSubstr("expected 0 to"));                      // a negative position
  EXPECT_THAT(refused(6, 0x80), HasSubstr("expected 0 to"));                      // one that is too large
  EXPECT_THAT(refused(8, 8), HasSubstr("a number is 8, expected -3 to 7"));       // the level
  EXPECT_THAT(refused(12, 5), HasSubstr("a number is 5, expected 0 to 4"));       // samples kept
  EXPECT_THAT(refused(bytes.size() - 1, 2), HasSubstr("is 2, expected 0 to 1"));  // a bool
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Stream other;
    EXPECT_THAT(std::string(restored(other, std::span(bytes).first(size)).text()),
                HasSubstr("it ends after"));
  }
}

// What could not be restored is not saved.
TEST(StateArchive, SavesNoStateThatItWouldRefuse) {
  Stream one;
  one.level = 8;
  std::vector<std::byte> bytes(100);
  StateArchive archive = StateArchive::saving(bytes);
  one.state(archive);
  EXPECT_EQ(archive.status().code(), Code::invalid_data);
  one.level = 0;
  one.twice = 1;
  archive = StateArchive::saving(bytes);
  one.state(archive);
  EXPECT_THAT(std::string(archive.status().text()), HasSubstr("the double is impossible"));
  one.twice = 0;
  archive = StateArchive::saving(std::span(bytes).first(10));
  one.state(archive);
  EXPECT_EQ(archive.status().code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::test
