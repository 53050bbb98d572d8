#include "pipeline/host/live/frame_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace runnel::pipeline {
namespace {

std::string framed(const std::string& text) {
  const auto header = frame_header(static_cast<std::uint32_t>(text.size()));
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) + text;
}

// All messages of a stream that arrives in blocks of this many bytes.
std::vector<std::string> messages_of(FrameStream& stream, const std::string& bytes, std::size_t piece) {
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::span<std::byte> room = stream.room();
    const std::size_t count = std::min({piece, room.size(), bytes.size() - at});
    std::memcpy(room.data(), bytes.data() + at, count);
    stream.add(count);
    at += count;
    for (std::span<const std::byte> message;;) {
      const Result<bool> whole = stream.next(message);
      EXPECT_TRUE(whole.ok()) << whole.status().text();
      if (!whole.ok() || !*whole) break;
      messages.emplace_back(reinterpret_cast<const char*>(message.data()), message.size());
    }
  }
  return messages;
}

TEST(FrameStream, GivesMessagesHoweverTheyAreCut) {
  const std::vector<std::string> sent = {"a", "", std::string(70000, 'x'), "end", std::string(4096, 'y'), ""};
  std::string bytes;
  for (const std::string& message : sent) bytes += framed(message);
  for (const std::size_t piece : {1, 3, 4, 5, 4096, 1000000}) {
    FrameStream stream;
    EXPECT_EQ(messages_of(stream, bytes, piece), sent) << piece;
    EXPECT_FALSE(stream.cut());
  }
}

TEST(FrameStream, TheLengthIsLittleEndian) {
  const auto header = frame_header(0x01020304);
  EXPECT_EQ(header, (std::array<std::byte, 4>{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}}));
}

TEST(FrameStream, KnowsThatAMessageWasCut) {
  const std::string whole = framed("hello");
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    FrameStream stream;
    EXPECT_TRUE(messages_of(stream, whole.substr(0, bytes), 100).empty());
    EXPECT_TRUE(stream.cut()) << bytes;
  }
}

TEST(FrameStream, RefusesWhatIsTooLong) {
  FrameStream stream(1000);
  EXPECT_EQ(messages_of(stream, framed(std::string(1000, 'x')), 100).size(), 1u);
  const std::string bytes = framed(std::string(1001, 'x')).substr(0, 4);
  std::memcpy(stream.room().data(), bytes.data(), 4);
  stream.add(4);
  std::span<const std::byte> message;
  const Result<bool> whole = stream.next(message);
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.status().code(), Code::invalid_data);
  EXPECT_EQ(whole.status().text(),
            "a message of 1001 bytes: expected a little-endian length of at most 1000 before each");
}

TEST(FrameStream, APromiseTakesNoMemory) {
  FrameStream stream;
  const auto header = frame_header(static_cast<std::uint32_t>(FrameStream::kLongest));
  std::memcpy(stream.room().data(), header.data(), header.size());
  stream.add(header.size());
  std::span<const std::byte> message;
  ASSERT_FALSE(*stream.next(message));
  EXPECT_LE(stream.room().size(), 8192u);
}

}  // namespace
}  // namespace runnel::pipeline
