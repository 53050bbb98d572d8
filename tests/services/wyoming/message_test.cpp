// Messages of the Wyoming protocol: in any pieces, wrong ones, and hundreds of thousands of broken ones.
#include "services/wyoming/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "services/wyoming/catalogue.h"
#include "services/wyoming/conversation.h"
#include "tests/services/serve/support.h"
#include "tests/services/wyoming/client.h"

namespace runnel::wyoming::test {
namespace {

using testing::HasSubstr;

void add(MessageReader& reader, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> room = reader.room();
    const std::size_t count = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), count);
    reader.add(count);
    bytes.remove_prefix(count);
  }
}

std::string payload_of(const Message& message) {
  return {reinterpret_cast<const char*>(message.payload.data()), message.payload.size()};
}

TEST(WyomingMessage, ComesInAnyPieces) {
  const std::string bytes =
      message("audio-chunk", {{"rate", 16000}, {"width", 2}}, "\n\n{}") +
      "{\"type\":\"ping\",\"data\":{\"a\":1,\"b\":2},\"data_length\":7}\n{\"b\":3}" +
      "{\"type\":\"describe\",\"data\":null,\"data_length\":null,\"payload_length\":0}\n";
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    MessageReader reader;
    std::vector<std::string> types;
    Message next;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      add(reader, std::string_view(bytes).substr(at, piece));
      for (;;) {
        const auto whole = reader.next(next);
        ASSERT_TRUE(whole.ok()) << whole.status().text();
        if (!*whole) break;
        types.push_back(next.type);
        if (next.type == "audio-chunk") {
          EXPECT_EQ(next.data, (Json{{"rate", 16000}, {"width", 2}}));
          EXPECT_EQ(payload_of(next), "\n\n{}");
        } else if (next.type == "ping") {
          EXPECT_EQ(next.data, (Json{{"a", 1}, {"b", 3}})) << "what follows the line is on top";
        } else {
          EXPECT_EQ(next.data, Json::object());
        }
      }
    }
    EXPECT_EQ(types, (std::vector<std::string>{"audio-chunk", "ping", "describe"})) << piece;
    EXPECT_TRUE(reader.empty());
  }
}

std::string failure(const std::string& bytes, const MessageLimits& limits = {}) {
  MessageReader reader(limits);
  add(reader, bytes);
  Message next;
  const auto whole = reader.next(next);
  return whole.ok() ? *whole ? "a message" : "incomplete" : std::string(whole.status().text());
}

TEST(WyomingMessage, RefusesWhatIsNone) {
  EXPECT_THAT(failure("GET / HTTP/1.1\r\n"), HasSubstr("its line is not a JSON object"));
  EXPECT_THAT(failure("[]\n"), HasSubstr("its line is not a JSON object"));
  EXPECT_THAT(failure("{}\n"), HasSubstr("\"type\": expected a text of 1 to 64 bytes"));
  EXPECT_THAT(failure("{\"type\":7}\n"), HasSubstr("\"type\""));
  EXPECT_THAT(failure("{\"type\":\"\xff\"}\n"), HasSubstr("not a JSON object"));
  EXPECT_THAT(failure("{\"type\":\"a\",\"data\":[]}\n"), HasSubstr("\"data\": expected an object"));
  EXPECT_THAT(failure("{\"type\":\"a\",\"data_length\":-1}\n"), HasSubstr("data_length: expected"));
  EXPECT_THAT(failure("{\"type\":\"a\",\"payload_length\":1.5}\n"), HasSubstr("found 1.5"));
  EXPECT_THAT(failure("{\"type\":\"a\",\"payload_length\":1073741824}\n"),
              HasSubstr("payload_length: expected a whole number of bytes up to 262144, found 1073741824"));
  EXPECT_THAT(failure("{\"type\":\"a\",\"data_length\":18446744073709551615}\n"), HasSubstr("data_length"));
  EXPECT_THAT(failure("{\"type\":\"a\",\"data_length\":2}\n[]"), HasSubstr("are not a JSON object"));
  EXPECT_THAT(failure(std::string(8193, 'x')), HasSubstr("more than 8192 bytes"));
  EXPECT_EQ(failure(std::string(8192, ' ')), "incomplete");
  EXPECT_EQ(failure("{\"type\":\"a\"" + std::string(8180, ' ') + "}\n"), "a message");
  EXPECT_THAT(failure("{\"type\":\"a\"" + std::string(8181, ' ') + "}\n"), HasSubstr("more than 8192 bytes"));
  // Deep nesting costs no stack.
  EXPECT_THAT(failure(std::string(8000, '[') + "\n"), HasSubstr("more than 64 deep"));
}

// Bytes of a good conversation, broken at random places: never a crash, never more than an error.
TEST(WyomingMessage, ABrokenOneIsAnErrorAndNoMore) {
  serve::test::Digits digits;
  auto catalogue = Catalogue::make({{"digits", digits.around()}}, digits.options(), 4, "en");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status().text();
  const Json format = {{"rate", 16000}, {"width", 2}, {"channels", 1}};
  const std::string sound = bytes_of(serve::test::sound(0.02, 3), 0, 320);
  const std::vector<std::string> good = {message("describe"),
                                         message("ping", {{"text", "x"}}),
                                         message("detect", {{"names", {"7", "digits"}}}),
                                         message("transcribe", {{"name", "a"}, {"language", "en"}}),
                                         message("audio-start", format),
                                         message("audio-chunk", format, sound),
                                         message("audio-stop", {{"timestamp", 1}})};
  const std::string pieces[] = {"{", "}", "\"", "\n", ":", ",", "null", "-1", "1e9", "[]", "16000", "\xc3"};
  std::mt19937 random(5);
  constexpr int kMessages = 100000;
  int whole = 0, errors = 0;
  Counts counts;
  serve::Together together;
  for (int i = 0; i < kMessages;) {
    MessageReader reader;
    Conversation conversation(*catalogue, counts);
    std::string out;
    Message next;
    bool broken = false;
    for (int rest = 40; rest > 0 && !broken && i < kMessages; --rest, ++i) {
      std::string bytes = good[random() % good.size()];
      for (auto changes = random() % 3; changes > 0; --changes) {
        const std::size_t at = random() % bytes.size();
        switch (random() % 4) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes.erase(at, 1 + random() % 8);
            break;
          case 2:
            bytes.insert(at, pieces[random() % std::size(pieces)]);
            break;
          default:
            bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 20));
        }
        if (bytes.empty()) bytes = "\n";
      }
      add(reader, bytes);
      for (;;) {
        const auto more = reader.next(next);
        broken = !more.ok();
        if (broken) {
          EXPECT_NE(more.status().text(), "");
          ++errors;
        }
        if (broken || !*more) break;
        ++whole;
        conversation.take(next, out);
        while (conversation.busy()) {
          std::vector<serve::Together::Turn> turns;
          conversation.add_turns(*catalogue->offers()[0], turns);
          ASSERT_FALSE(turns.empty());
          together.step(turns);
          for (const auto& turn : turns) ASSERT_TRUE(turn.status.ok()) << turn.status.text();
        }
        conversation.collect(out);
      }
      if (out.size() > 100000) out.clear();
    }
    conversation.end(out);
  }
  EXPECT_GT(whole, kMessages / 10);
  EXPECT_GT(errors, kMessages / 100);
  EXPECT_GT(counts.errors, 100);
  EXPECT_GT(counts.requests, 100);
}

}  // namespace
}  // namespace runnel::wyoming::test
