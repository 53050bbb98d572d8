// The first message of a client: the format of its samples, and its identity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/limits.h"
#include "base/status.h"
#include "pipeline/host/live/sample_code.h"

namespace runnel::serve {

struct Greeting {
  static constexpr std::size_t kLongest = limits::kGreetingBytes;  // bytes

  pipeline::SampleCode format = pipeline::SampleCode::s16;
  std::int64_t rate = 16000;      // Hz, 1000 .. 768000, a multiple of 25
  std::int32_t channels = 1;      // 1 .. 8
  std::string source = "stream";  // name in the records, at most 200 bytes
  std::string token;
  bool progress = false;  // the client requests progress messages

  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    return pipeline::bytes_of(format) * static_cast<std::size_t>(channels);
  }
};

// A JSON object with any of these keys. Errors: invalid_data, naming the key, what was expected and what was
// found; messages never contain the token.
Result<Greeting> parse_greeting(std::span<const std::byte> message);

}  // namespace runnel::serve
