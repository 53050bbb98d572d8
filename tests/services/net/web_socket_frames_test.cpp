// The frames of WebSockets: what RFC 6455 demands, and what is left of it after random changes.
#include "services/net/web_socket_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace runnel::net {
namespace {

using Item = FrameReader::Item;
constexpr std::array<std::uint8_t, 4> kMask = {0x37, 0xfa, 0x21, 0x3d};

std::string frame(Opcode opcode, std::string_view payload, bool last = true) {
  std::string out;
  append_frame(out, opcode, payload, &kMask, last);
  return out;
}

struct Got {
  Item item;
  std::string payload;
  int code = 0;
  friend bool operator==(const Got&, const Got&) = default;
};
void PrintTo(const Got& got, std::ostream* out) {
  *out << static_cast<int>(got.item) << " \"" << got.payload.substr(0, 40) << "\" " << got.code;
}

// Everything that a reader makes of these bytes, given in pieces of at most `piece`.
std::vector<Got> read(FrameReader& reader, std::string_view bytes, std::size_t piece = 1U << 20U) {
  std::vector<Got> all;
  while (!bytes.empty()) {
    std::span<const char> some = bytes.substr(0, piece);
    bytes.remove_prefix(some.size());
    while (true) {
      const Item item = reader.next(some);
      if (item == Item::none) break;
      const bool has_code = item == Item::close || item == Item::wrong;
      all.push_back(
          {item, item == Item::wrong ? "" : std::string(reader.payload()), has_code ? reader.code() : 0});
    }
  }
  return all;
}
std::vector<Got> read(std::string_view bytes, std::size_t piece = 1U << 20U,
                      std::size_t longest = 1U << 20U) {
  FrameReader reader(longest);
  return read(reader, bytes, piece);
}
std::vector<Got> wrong(int code) { return {{Item::wrong, "", code}}; }

TEST(WebSocketFrames, AreThoseOfTheStandard) {
  // The examples of section 5.7.
  EXPECT_EQ(read("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), (std::vector<Got>{{Item::text, "Hello"}}));
  EXPECT_EQ(frame(Opcode::text, "Hello"), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  std::string out;
  append_frame(out, Opcode::text, "Hello");
  EXPECT_EQ(out, "\x81\x05Hello");
  out.clear();
  append_frame(out, Opcode::binary, std::string(256, 'x'));
  EXPECT_EQ(out.substr(0, 4), (std::string{'\x82', '\x7e', '\x01', '\x00'}));
  out.clear();
  append_frame(out, Opcode::binary, std::string(65536, 'x'));
  EXPECT_EQ(out.substr(0, 10), (std::string{'\x82', '\x7f', 0, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(WebSocketFrames, OfEverySizeComeBackInPiecesOfEverySize) {
  for (const std::size_t size : {0, 1, 3, 4, 125, 126, 127, 1000, 65535, 65536, 70000}) {
    std::string payload(size, '\0');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 7 + 3);
    const std::string bytes = frame(Opcode::binary, payload) + frame(Opcode::text, "next");
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{2}, std::size_t{13}, std::size_t{4096}, bytes.size()})
      EXPECT_EQ(read(bytes, piece), (std::vector<Got>{{Item::binary, payload}, {Item::text, "next"}}))
          << size << " in " << piece;
  }
}

TEST(WebSocketFrames, JoinFragmentsWithPingsBetweenThem) {
  const std::string bytes = frame(Opcode::text, "gr\xc3", false) + frame(Opcode::ping, "a") +
                            frame(Opcode::continuation, "", false) + frame(Opcode::pong, "b") +
                            frame(Opcode::continuation,
                                  "\xbc\xc3\x9f"
                                  "e") +
                            frame(Opcode::binary, "c");
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece)
    EXPECT_EQ(read(bytes, piece), (std::vector<Got>{{Item::ping, "a"},
                                                    {Item::pong, "b"},
                                                    {Item::text,
                                                     "gr\xc3\xbc\xc3\x9f"
                                                     "e"},
                                                    {Item::binary, "c"}}));
}

TEST(WebSocketFrames, OfAGigabyteAreRefusedBeforeMemoryIsTaken) {
  std::string announced{'\x82', '\xff', 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4};
  FrameReader reader(1000);
  EXPECT_EQ(read(reader, announced), wrong(kTooLong));
  EXPECT_LT(reader.memory(), 2000U);
  // As are fragments that are too long together, and one byte too many.
  EXPECT_EQ(read(frame(Opcode::binary, std::string(600, 'x'), false) +
                     frame(Opcode::continuation, std::string(401, 'x')),
                 1U << 20U, 1000),
            wrong(kTooLong));
  EXPECT_EQ(read(frame(Opcode::binary, std::string(1001, 'x')), 7, 1000), wrong(kTooLong));
  EXPECT_EQ(read(frame(Opcode::binary, std::string(1000, 'x')), 7, 1000).front().item, Item::binary);
  // One that is allowed, and announced only.
  FrameReader large(std::size_t{1} << 32);
  EXPECT_TRUE(read(large, announced).empty());
  EXPECT_LT(large.memory(), 2000U);
}

TEST(WebSocketFrames, ThatBreakARuleEndTheConnection) {
  const std::string masked = frame(Opcode::text, "x");
  std::string changed = masked;
  changed[1] = '\x01';  // no mask
  EXPECT_EQ(read(changed), wrong(kProtocolError));
  for (const int bit : {0x40, 0x20, 0x10}) {
    changed = masked;
    changed[0] = static_cast<char>(changed[0] | bit);
    EXPECT_EQ(read(changed), wrong(kProtocolError)) << bit;
  }
  for (const int opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    changed = masked;
    changed[0] = static_cast<char>(0x80 | opcode);
    EXPECT_EQ(read(changed), wrong(kProtocolError)) << opcode;
  }
  EXPECT_EQ(read(frame(Opcode::ping, std::string(126, 'x'))), wrong(kProtocolError));
  EXPECT_EQ(read(frame(Opcode::ping, "x", false)), wrong(kProtocolError));
  EXPECT_EQ(read(frame(Opcode::continuation, "x")), wrong(kProtocolError));
  EXPECT_EQ(read(frame(Opcode::text, "x", false) + frame(Opcode::text, "y")), wrong(kProtocolError));
  // Lengths in more bytes than they need, and a negative one.
  EXPECT_EQ(read(std::string{'\x82', '\xfe', 0, 5, 1, 2, 3, 4}), wrong(kProtocolError));
  EXPECT_EQ(read(std::string{'\x82', '\xff', 0, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4}), wrong(kProtocolError));
  EXPECT_EQ(read(std::string{'\x82', '\xff', '\x80', 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4}),
            wrong(kProtocolError));
  EXPECT_EQ(read(frame(Opcode::text, "\xff")), wrong(kBadText));
}

TEST(WebSocketFrames, ThatCloseHaveACodeAndAReason) {
  EXPECT_EQ(read(frame(Opcode::close, "")), (std::vector<Got>{{Item::close, "", 1005}}));
  EXPECT_EQ(read(frame(Opcode::close, close_payload(1000, "bye")) + frame(Opcode::text, "more")),
            (std::vector<Got>{{Item::close, "bye", 1000}}))
      << "nothing follows";
  EXPECT_EQ(read(frame(Opcode::close, close_payload(4999, ""))), (std::vector<Got>{{Item::close, "", 4999}}));
  EXPECT_EQ(read(frame(Opcode::close, "\x03")), wrong(kProtocolError));
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535})
    EXPECT_EQ(read(frame(Opcode::close, close_payload(static_cast<std::uint16_t>(code), ""))),
              wrong(kProtocolError))
        << code;
  EXPECT_EQ(read(frame(Opcode::close, close_payload(1000, "\xc3"))), wrong(kBadText));
  // A long reason is cut between two characters.
  const std::string reason = close_payload(1000, std::string(122, 'x') + "\xc3\xbc");
  EXPECT_EQ(reason.size(), 124U);
  EXPECT_TRUE(is_utf8(std::string_view(reason).substr(2)));
}

TEST(WebSocketFrames, KnowUtf8) {
  for (const char* good : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe1\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xf0\x90\x80"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

// A hundred thousand changed streams: a reader never gives what breaks a rule, never keeps more than arrived,
// and gives the same for whole streams and for pieces.
TEST(WebSocketFrames, SurviveRandomChanges) {
  std::mt19937 random(455);
  const std::string good = frame(Opcode::text, "{\"type\":\"x\"}") +
                           frame(Opcode::binary, std::string(20, '\x7f'), false) + frame(Opcode::ping, "p") +
                           frame(Opcode::pong, "q") + frame(Opcode::continuation, std::string(130, 'z')) +
                           frame(Opcode::close, close_payload(1000, "bye"));
  constexpr std::size_t kLongest = 200;
  std::array<int, 7> seen{};
  std::string bytes;
  for (int round = 0; round < 100000; ++round) {
    bytes = good;
    for (unsigned change = 1 + random() % 3; change > 0; --change) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes.erase(at, 1 + random() % 4);
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(random()));
          break;
      }
      if (bytes.empty()) bytes = good;
    }
    FrameReader whole(kLongest);
    std::span<const char> left = bytes;
    bool over = false;
    for (Item item = whole.next(left); item != Item::none; item = whole.next(left)) {
      ++seen[static_cast<std::size_t>(item)];
      if (over) FAIL() << "something follows the end in round " << round;
      over = item == Item::close || item == Item::wrong;
      if (whole.payload().size() > kLongest) FAIL() << "a message of " << whole.payload().size();
      if (item == Item::text && !is_utf8(whole.payload())) FAIL() << "not UTF-8 in round " << round;
      if (item == Item::wrong && (whole.fault().empty() || whole.code() < 1002))
        FAIL() << "no reason in round " << round;
    }
    if (!left.empty()) FAIL() << "bytes left in round " << round;
    if (whole.memory() > 4 * kLongest) FAIL() << whole.memory() << " bytes in round " << round;
    if (round % 50 == 0) {
      EXPECT_EQ(read(bytes, 1U << 20U, kLongest), read(bytes, 1 + random() % 20, kLongest));
    }
  }
  // Every kind of item was met.
  for (const Item item : {Item::text, Item::binary, Item::ping, Item::pong, Item::close, Item::wrong})
    EXPECT_GT(seen[static_cast<std::size_t>(item)], 100) << static_cast<int>(item);
}

}  // namespace
}  // namespace runnel::net
