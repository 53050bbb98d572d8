// A chunk of a stream as it travels: samples are the message's data, what they are is in its headers.
//
//   Runnel-Format  s16 16000 1          code, Hz, channels
//   Runnel-First   480000               index of the first sample in its run
//   Runnel-Run     1732700000000000000  of the sender; a later one has a higher number
//   Runnel-Time    1732700030000000000  ns since 1970 of the first sample; without: unknown
//   Runnel-End     1                    the run ends after these samples, of which there may be none
//   Runnel-Gap     3200                 samples before these that their sender does not have either
#pragma once

#include <cstdint>
#include <string>

#include "base/limits.h"
#include "base/status.h"
#include "services/fleet/exchange.h"
#include "services/serve/stream.h"

namespace runnel::fleet {

struct Chunk {
  static constexpr std::size_t kMostBytes = limits::kFleetChunkBytes;

  serve::SampleFormat format;
  std::int64_t first = 0;
  std::uint64_t run = 0;
  std::int64_t time = 0;  // 0: unknown
  bool end = false;
  std::int64_t gap = 0;      // samples before the first that never come
  std::int64_t samples = 0;  // in the message's data, of one channel

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

// Errors: invalid_data, with the header, what was expected and what was found.
Result<Chunk> read_chunk(const Message& message);
Headers headers_of(const Chunk& chunk);

// MQTT 3.1.1 has no headers: data may begin with them instead, as text of at most kMostPreamble bytes,
//
//   RUNNEL/1\r\nFormat: s16 16000 1\r\nFirst: 480000\r\nRun: 7\r\n\r\n
//
// of which unpack() makes headers, and leaves the samples. No other headers can be made that way: a device
// cannot speak to the server by them. A message that has the header Runnel-Format, or does not begin like
// this, stays as it is; also one whose preamble is broken, which read_chunk() then refuses.
inline constexpr std::size_t kMostPreamble = limits::kFleetPreambleBytes;
void unpack(Message& message);
// The preamble of a chunk.
std::string preamble_of(const Chunk& chunk);
// A second copy of a chunk has the same one (header Nats-Msg-Id).
std::string id_of(std::string_view subject, const Chunk& chunk);

// "s16 16000 1"
std::string text_of(const serve::SampleFormat& format);
// Errors: invalid_data.
Result<serve::SampleFormat> read_format(std::string_view text);
// A whole number of digits only. Errors: invalid_data.
Result<std::uint64_t> read_number(std::string_view text, std::uint64_t most);

}  // namespace runnel::fleet
