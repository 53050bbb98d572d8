// Messages from outside that are damaged, and those that the fuzzer began with: each is used, or refused with
// a sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "services/fleet/chunk.h"
#include "tests/robustness/many_mutations.h"
#include "tests/robustness/mutate.h"
#include "tests/services/fleet/feed.h"
#include "tests/support/data.h"

namespace runnel::fleet::test {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> out(text.size());
  std::memcpy(out.data(), text.data(), text.size());
  return out;
}

TEST(Messages, AreUsedOrRefused) {
  int read = 0, refused = 0;
  for (const auto& [name, text] : made_messages()) {
    SCOPED_TRACE(name);
    const Status status = feed_message(bytes_of(text));
    ++(status.ok() ? read : refused);
    EXPECT_TRUE(status.ok() || !status.text().empty());
  }
  EXPECT_EQ(read, 9);
  EXPECT_EQ(refused, 8);
}

TEST(Messages, DamagedOnes) {
  std::uint64_t seed = 1;
  int read = 0, refused = 0;
  for (const auto& [name, text] : made_messages()) {
    SCOPED_TRACE(name);
    runnel::test::Mutator mutator(bytes_of(text), seed++);
    for (int i = 0; i < 400; ++i) ++(feed_message(mutator.next()).ok() ? read : refused);
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

TEST(Messages, OfTheCorpus) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(RUNNEL_SOURCE_FOLDER) /
                                                               "tests/corpus/chunk")) {
    SCOPED_TRACE(entry.path().filename().string());
    static_cast<void>(feed_message(runnel::test::read_file(entry.path())));
    ++count;
  }
  EXPECT_GE(count, 10);
}

TEST(Messages, AndOneOf64MiB) {
  std::string text = made_messages().front().second;
  text.resize(std::size_t{64} << 20);
  const Status status = feed_message(bytes_of(text));
  EXPECT_NE(status.text().find("expected at most 1048576"), std::string_view::npos) << status.text();
}

TEST(Messages, APreambleMakesNoOtherHeaders) {
  Message message;
  message.data = bytes_of("RUNNEL/1\r\nFormat: s16 16000 1\r\nFirst: 0\r\nEvent: 9\r\n\r\nab");
  const Message before = message;
  unpack(message);
  EXPECT_EQ(message.headers, before.headers);
  EXPECT_EQ(message.data, before.data);
  message.data = bytes_of("RUNNEL/1\r\nFormat: s16 16000 1\r\nFirst: 0\r\n\r\nab");
  message.headers = {{"Runnel-Format", "s16 8000 1"}};
  unpack(message);
  EXPECT_EQ(message.headers.size(), 1U) << "headers of NATS come first";
  message.headers.clear();
  unpack(message);
  EXPECT_EQ(message.data, bytes_of("ab"));
  EXPECT_EQ(message.headers, (Headers{{"Runnel-Format", "s16 16000 1"}, {"Runnel-First", "0"}}));
}

}  // namespace
}  // namespace runnel::fleet::test
