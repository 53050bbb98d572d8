#include "tests/services/net/feed.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "pipeline/host/live/frame_stream.h"
#include "services/net/access/tokens.h"
#include "services/net/limits.h"
#include "services/net/request_head.h"
#include "services/net/web_socket_frames.h"
#include "services/serve/greeting.h"
#include "services/wyoming/message.h"

namespace runnel::net::test {
namespace {

void insist(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The sizes of pieces: a byte each, or more and more.
class Cut {
 public:
  explicit Cut(std::span<const std::byte>& bytes) {
    if (!bytes.empty()) step_ = 1 + static_cast<std::size_t>(bytes.front());
    if (!bytes.empty()) bytes = bytes.subspan(1);
  }
  std::size_t next(std::size_t left) {
    const std::size_t size = std::min(left, step_);
    if (step_ % 3 == 0) ++step_;
    return size;
  }

 private:
  std::size_t step_ = 1;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Status feed_request(std::span<const std::byte> bytes) {
  Cut cut(bytes);
  const std::string_view text = text_of(bytes);
  RequestHead whole, pieces;
  const RequestHead::State state = whole.look(text);
  RequestHead::State last = RequestHead::State::more;
  for (std::size_t at = 0; at < text.size() && last == RequestHead::State::more;) {
    at += cut.next(text.size() - at);
    last = pieces.look(text.substr(0, at));
  }
  insist(last == state, "a request is another one in pieces");
  insist(state != RequestHead::State::whole || whole.size() <= kLongestHead + kLongestBody,
         "a request beyond its limits");
  insist(state != RequestHead::State::whole || whole.size() == pieces.size(), "a request of two sizes");
  if (state != RequestHead::State::wrong) return {};
  return Status(Code::invalid_data, whole.fault());
}

Status feed_web_socket(std::span<const std::byte> bytes) {
  constexpr std::size_t kLongest = 4096;
  Cut cut(bytes);
  FrameReader reader(kLongest);
  while (!bytes.empty()) {
    const std::size_t size = cut.next(bytes.size());
    std::span<const char> piece(reinterpret_cast<const char*>(bytes.data()), size);
    bytes = bytes.subspan(size);
    while (true) {
      const FrameReader::Item item = reader.next(piece);
      insist(reader.payload().size() <= kLongest, "a message beyond its limit");
      insist(reader.memory() <= 4 * kLongest, "memory beyond its limit");
      if (item == FrameReader::Item::none) break;
      if (item == FrameReader::Item::wrong) return Status(Code::invalid_data, reader.fault());
    }
  }
  return {};
}

Status feed_tokens(std::span<const std::byte> bytes) {
  const auto rows = parse_tokens(text_of(bytes), "FILE");
  if (!rows.ok()) return rows.status();
  insist(!rows->empty() && rows->size() <= kMostTokens, "tokens beyond their limit");
  for (const TokenRow& row : *rows) insist(!row.scopes.none(), "a token without a scope");
  return {};
}

Status feed_hello(std::span<const std::byte> bytes) {
  Cut cut(bytes);
  pipeline::FrameStream stream(std::size_t{1} << 18);
  while (true) {
    std::span<const std::byte> message;
    RUNNEL_ASSIGN(const bool whole, stream.next(message));
    if (whole) return serve::parse_greeting(message).status();
    if (bytes.empty()) return {};
    const std::span<std::byte> room = stream.room();
    const std::size_t size = std::min(room.size(), cut.next(bytes.size()));
    std::memcpy(room.data(), bytes.data(), size);
    stream.add(size);
    bytes = bytes.subspan(size);
  }
}

Status feed_wyoming(std::span<const std::byte> bytes) {
  Cut cut(bytes);
  wyoming::MessageReader reader;
  wyoming::Message message;
  while (!bytes.empty()) {
    const std::span<std::byte> room = reader.room();
    const std::size_t size = std::min(room.size(), cut.next(bytes.size()));
    std::memcpy(room.data(), bytes.data(), size);
    reader.add(size);
    bytes = bytes.subspan(size);
    while (true) {
      RUNNEL_ASSIGN(const bool whole, reader.next(message));
      if (!whole) break;
    }
  }
  return {};
}

std::vector<Reader> network_readers() {
  const std::string digest(64, 'a');
  std::string frames = "\x05";
  constexpr std::array<std::uint8_t, 4> kMask = {1, 2, 3, 4};
  append_frame(frames, Opcode::text, "{\"rate\":16000}", &kMask, false);
  append_frame(frames, Opcode::ping, "now", &kMask);
  append_frame(frames, Opcode::continuation, " ", &kMask);
  append_frame(frames, Opcode::binary, std::string(300, 'x'), &kMask);
  append_frame(frames, Opcode::close, close_payload(kNormal, "done"), &kMask);
  const auto framed = [](const std::string& text) {
    const auto header = pipeline::frame_header(static_cast<std::uint32_t>(text.size()));
    return "\x03" + std::string(reinterpret_cast<const char*>(header.data()), header.size()) + text;
  };
  return {
      {"http_request",
       feed_request,
       {"\x04GET / HTTP/1.1\r\nHost: localhost:8080\r\nAccept: text/html\r\n\r\n",
        "\x01POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\ntoken",
        "\x10GET /stream HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
        "Authorization: Bearer 0123456789abcdef\r\nSec-WebSocket-Version: 13\r\n\r\n"}},
      {"web_socket", feed_web_socket, {frames}},
      {"tokens",
       feed_tokens,
       {"# comment\nstream,watch sha256:" + digest + " kitchen\r\n\nmanage sha256:" + digest,
        "stream sha256:" + digest}},
      {"hello",
       feed_hello,
       {framed(
            R"({"format":"s16","rate":16000,"channels":2,"source":"kitchen","token":"x","progress":true})"),
        framed("{}")}},
      {"wyoming",
       feed_wyoming,
       {"\x07{\"type\":\"detect\",\"data_length\":15,\"payload_length\":0}\n{\"names\":[\"3\"]}",
        "\x02{\"type\":\"audio-chunk\",\"data\":{\"rate\":16000,\"width\":2,\"channels\":1},"
        "\"payload_length\":4}\nabcd"}},
  };
}

}  // namespace runnel::net::test
