// What strangers send over a network, through what reads it first. For the mutation tests and the fuzzers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::net::test {

// The first byte of each input says how the rest is cut into pieces; what is read must not depend on it
// (failure of the program). They give what the reader says of it.
Status feed_request(std::span<const std::byte> bytes);     // the head of a request over HTTP
Status feed_web_socket(std::span<const std::byte> bytes);  // frames of a WebSocket
Status feed_tokens(std::span<const std::byte> bytes);      // a file of tokens
Status feed_hello(std::span<const std::byte> bytes);       // the first message of a stream
Status feed_wyoming(std::span<const std::byte> bytes);     // messages of Wyoming

struct Reader {
  std::string_view kind;  // of its folder in tests/corpus
  Status (*feed)(std::span<const std::byte> bytes);
  std::vector<std::string> seeds;
};
std::vector<Reader> network_readers();

}  // namespace runnel::net::test
