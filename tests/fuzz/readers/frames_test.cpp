// The mutator of messages with lengths: most of what it makes has whole messages, and it is the same for the
// same seed.
#include "tests/fuzz/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/robustness/mutate.h"

namespace runnel::fuzz {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string plain(const std::string& bytes, std::size_t most) {
  test::Mutator mutator(bytes_of(bytes), bytes.size());
  std::string out;
  for (const std::byte one : mutator.next()) out += static_cast<char>(one);
  out.resize(std::min(out.size(), most));
  return out;
}

// Whole messages at the front, and what is left.
std::pair<int, std::string> messages_in(std::string text, const FrameFormat& format) {
  int count = 0;
  text.erase(0, format.head);
  while (!text.empty()) {
    const FrameParts found = format.look(text);
    if (found.bytes == 0) break;
    text.erase(0, found.bytes);
    ++count;
  }
  return {count, text};
}

struct Case {
  const char* kind;
  std::string input;
};
std::vector<Case> cases() {
  return {{"page_socket", frame("tone") + frame("b\1\2") + frame(std::string(300, 'x'))},
          {"hello", "\3" + std::string("\5\0\0\0hello\2\0\0\0{}", 15)},
          {"mqtt", "\1" + std::string("\x20\x02\0\0\x40\x02\0\1\x30\x81\1", 11) + std::string(129, 'p')},
          {"web_socket",
           "\1" + std::string("\x81\x83\1\2\3\4abc\x82\xfe\0\x80\1\2\3\4", 17) + std::string(128, 'y')},
          {"wyoming", "\2{\"type\":\"a\",\"data_length\":2,\"payload_length\":3}\n{}abc{\"type\":\"b\"}\n"}};
}

TEST(Frames, KnowWholeMessages) {
  for (const Case& one : cases()) {
    const FrameFormat* const format = frame_format(one.kind);
    ASSERT_NE(format, nullptr) << one.kind;
    const auto [count, rest] = messages_in(one.input, *format);
    EXPECT_GE(count, 2) << one.kind;
    EXPECT_EQ(rest, "") << one.kind;
    for (std::size_t size = 0; size < one.input.size(); ++size)
      messages_in(one.input.substr(0, size), *format);
  }
  EXPECT_EQ(frame_format("grammar"), nullptr);
}

TEST(Frames, AreMadeAroundOtherContent) {
  for (const Case& one : cases()) {
    const FrameFormat* const format = frame_format(one.kind);
    const std::string messages = one.input.substr(format->head);
    const std::string old = messages.substr(0, format->look(messages).bytes);
    for (const std::size_t size : {0U, 1U, 125U, 126U, 127U, 128U, 3000U}) {
      const std::string made = format->made(old, std::string(size, 'z'));
      const FrameParts found = format->look(made);
      EXPECT_EQ(found.bytes, made.size()) << one.kind << " of " << size;
      EXPECT_EQ(made.size() - found.content, size) << one.kind;
    }
  }
}

TEST(Frames, MostMutantsHaveWholeMessages) {
  for (const Case& one : cases()) {
    const FrameFormat* const format = frame_format(one.kind);
    int whole = 0, changed = 0;
    constexpr int kCount = 1000;
    for (std::uint32_t seed = 1; seed <= kCount; ++seed) {
      const std::string made = mutate_frames(one.input, 4096, seed, *format, plain);
      EXPECT_LE(made.size(), 4096U);
      EXPECT_EQ(made, mutate_frames(one.input, 4096, seed, *format, plain)) << "seed " << seed;
      whole += messages_in(made, *format).second.empty() ? 1 : 0;
      changed += made != one.input ? 1 : 0;
    }
    EXPECT_GT(whole, kCount / 2) << one.kind;
    EXPECT_GT(changed, kCount * 2 / 3) << one.kind;
  }
}

TEST(Frames, TakeAnyInput) {
  for (const Case& one : cases()) {
    const FrameFormat* const format = frame_format(one.kind);
    test::Mutator mutator(bytes_of(one.input), 7);
    for (std::uint32_t i = 0; i < 300; ++i) {
      std::string input;
      for (const std::byte byte : mutator.next()) input += static_cast<char>(byte);
      for (const std::size_t most : {1U, 10U, 4096U})
        EXPECT_LE(mutate_frames(input, most, i, *format, plain).size(), most);
      mqtt_packet_bytes(bytes_of(input));
      for (std::span<const std::byte> rest = bytes_of(input); !next_frame(rest).empty();) continue;
    }
    EXPECT_LE(mutate_frames("", 10, 1, *format, plain).size(), 10U);
  }
}

}  // namespace
}  // namespace runnel::fuzz
