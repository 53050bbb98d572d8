// What strangers send, damaged, and what the fuzzers began with: each is read, or refused with a sentence.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "tests/robustness/mutate.h"
#include "tests/services/net/feed.h"
#include "tests/support/data.h"

namespace runnel::net::test {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(NetworkInputs, AreRead) {
  for (const Reader& reader : network_readers()) {
    for (const std::string& seed : reader.seeds) {
      const Status status = reader.feed(bytes_of(seed));
      EXPECT_TRUE(status.ok()) << reader.kind << ": " << status.text();
    }
  }
}

TEST(NetworkInputs, DamagedOnesAreReadOrRefused) {
  std::uint64_t number = 1;
  for (const Reader& reader : network_readers()) {
    int refused = 0;
    for (const std::string& seed : reader.seeds) {
      runnel::test::Mutator mutator(bytes_of(seed), number++);
      for (int i = 0; i < 2000; ++i) {
        const Status status = reader.feed(mutator.next());
        refused += status.ok() ? 0 : 1;
        EXPECT_TRUE(status.ok() || !status.text().empty()) << reader.kind;
      }
    }
    EXPECT_GT(refused, 100) << reader.kind;
  }
}

// What copies or prints JSON calls itself for each level, and would use up the stack.
TEST(NetworkInputs, OfBracketsAloneAreRefused) {
  const std::string deep = std::string(30000, '[') + std::string(30000, ']');
  const auto expect_refused = [&](std::string_view kind, const std::string& input) {
    for (const Reader& reader : network_readers()) {
      if (reader.kind != kind) continue;
      const Status status = reader.feed(bytes_of(input));
      EXPECT_FALSE(status.ok()) << kind;
      EXPECT_NE(std::string(status.text()).find(" 64 deep"), std::string::npos) << status.text();
    }
  };
  expect_refused("wyoming", "\x7f{\"type\":\"ping\",\"data_length\":" + std::to_string(deep.size() + 10) +
                                "}\n{\"text\": " + deep + "}");
  const std::string shallow = std::string(2000, '[') + std::string(2000, ']');
  expect_refused("wyoming", "\x7f{\"type\":\"ping\",\"data_length\":" + shallow + "}\n");
  const std::string greeting = "{\"rate\":" + std::string(1500, '[') + std::string(1500, ']') + "}";
  std::string framed = "\x7f";
  for (std::size_t i = 0; i < 4; ++i) framed += static_cast<char>(greeting.size() >> (8 * i) & 255);
  expect_refused("hello", framed + greeting);
}

TEST(NetworkInputs, OfTheCorpus) {
  for (const Reader& reader : network_readers()) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(RUNNEL_SOURCE_FOLDER) /
                                                                 "tests/corpus" / reader.kind)) {
      SCOPED_TRACE(entry.path().string());
      const Status status = reader.feed(runnel::test::read_file(entry.path()));
      EXPECT_TRUE(status.ok() || !status.text().empty());
      ++count;
    }
    EXPECT_GE(count, 2) << reader.kind;
  }
}

}  // namespace
}  // namespace runnel::net::test
