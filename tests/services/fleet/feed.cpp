#include "tests/services/fleet/feed.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "services/fleet/chunk.h"
#include "services/fleet/entry.h"
#include "services/fleet/nats/jetstream.h"
#include "services/fleet/owned_stream.h"
#include "tests/services/fleet/counting_runner.h"

namespace runnel::fleet::test {
namespace {

void insist(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "a message: %s\n", what);
  std::abort();
}

// A stream in the middle of a run hears it or says why not.
void hear(const Message& message) {
  SomeRunners runners;
  runners.all.emplace_back(1);
  OwnedStream stream("audio.a", runners, {});
  Entry entry;
  entry.graph = 1;
  insist(stream.resume(entry, {}).ok(), "a stream that cannot begin");
  stream.log_ends(nullptr);
  Message first;
  first.sequence = 1;
  Chunk chunk;
  chunk.run = 7;
  first.headers = headers_of(chunk);
  first.data.resize(320);
  Message second = message;
  second.sequence = 2;
  stream.arrives(first);
  stream.arrives(second);
  for (int i = 0; i < 8 && stream.waiting() > 0; ++i) {
    std::string why;
    Message apart;
    const auto next = stream.next(why, apart);
    insist(next.ok() || !next.status().text().empty(), "a failure without text");
    if (!next.ok()) return;
    if (next->run == nullptr) continue;
    Runner::Turn turn{next->run, next->samples, {}};
    next->runner->hear({&turn, 1});
    insist(turn.status.ok() && stream.heard().ok(), "samples that were not heard");
  }
  const ChunkCounts& counts = stream.counts();
  insist(counts.heard + counts.doubled + counts.set_apart >= 2, "it was not counted");
}

}  // namespace

Status feed_message(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Message message;
  message.subject = "audio.a";
  std::size_t data = 0;
  if (text.starts_with("NATS/1.0")) {
    const std::size_t end = text.find("\r\n\r\n");
    data = end == std::string_view::npos ? text.size() : end + 4;
    message.headers = headers_in(text.substr(0, data));
  }
  message.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(data), bytes.end());
  static_cast<void>(from_base64(text));
  if (const auto entry = read_entry(message.headers); entry.ok()) {
    const auto again = read_entry(headers_of(*entry));
    insist(again.ok() && *again == *entry, "an entry that is another one when it was written");
  } else {
    insist(!entry.status().text().empty(), "a failure without text");
  }
  unpack(message);
  hear(message);
  const auto chunk = read_chunk(message);
  if (!chunk.ok()) return chunk.status();
  Message again;
  again.headers = headers_of(*chunk);
  again.data = message.data;
  const auto read = read_chunk(again);
  insist(read.ok() && *read == *chunk, "a chunk that is another one when it was written");
  Message packed;
  const std::string preamble = preamble_of(*chunk);
  const auto begin = std::as_bytes(std::span(preamble));
  packed.data.assign(begin.begin(), begin.end());
  packed.data.insert(packed.data.end(), message.data.begin(), message.data.end());
  unpack(packed);
  const auto unpacked = read_chunk(packed);
  insist(unpacked.ok() && *unpacked == *chunk && packed.data == message.data,
         "a chunk that is another one behind its preamble");
  return {};
}

std::vector<std::pair<std::string, std::string>> made_messages() {
  const std::string samples(320, '\1');
  const auto wire = [&](const std::string& lines) { return "NATS/1.0\r\n" + lines + "\r\n" + samples; };
  const std::string s16 = "Runnel-Format: s16 16000 1\r\n";
  return {
      {"next", wire(s16 + "Runnel-First: 160\r\nRunnel-Run: 7\r\n")},
      {"end",
       wire(s16 +
            "Runnel-First: 160\r\nRunnel-Run: 7\r\nRunnel-Time: 1764212430000000000\r\nRunnel-End: 1\r\n")},
      {"gap", wire(s16 + "Runnel-First: 9999\r\nRunnel-Run: 7\r\nNats-Msg-Id: audio.a 7 9999 160\r\n")},
      {"back", wire(s16 + "Runnel-First: 80\r\nRunnel-Run: 7\r\n")},
      {"later_run", wire("Runnel-Format: float 100 4\r\nRunnel-First: 0\r\nRunnel-Run: 8\r\n")},
      {"older_run", wire(s16 + "Runnel-First: 160\r\nRunnel-Run: 6\r\n")},
      {"other_format", wire("Runnel-Format: s24_3 48000 2\r\nRunnel-First: 160\r\nRunnel-Run: 7\r\n")},
      {"far", wire(s16 + "Runnel-First: 1099511627776\r\nRunnel-Run: 7\r\n")},
      {"beyond", wire(s16 + "Runnel-First: 18446744073709551615\r\nRunnel-Run: 7\r\n")},
      {"half_a_sample", wire(s16 + "Runnel-First: 160\r\nRunnel-Run: 7\r\n") + "x"},
      {"none", samples},
      {"no_first", wire(s16)},
      {"entry", wire("Runnel-Owner: w\r\nRunnel-Graph: 0123abcd\r\nRunnel-Covered: 4\r\nRunnel-Run: 7\r\n"
                     "Runnel-Next: 320\r\nRunnel-Events: 2\r\n" +
                     s16)},
      {"mqtt", "RUNNEL/1\r\nFormat: s16 16000 1\r\nFirst: 160\r\nRun: 7\r\n\r\n" + samples},
      {"mqtt_end", "RUNNEL/1\r\nFormat: s16 16000 1\r\nFirst: 160\r\nRun: 7\r\nEnd: 1\r\n\r\n"},
      {"mqtt_other_header", "RUNNEL/1\r\nFormat: s16 16000 1\r\nFirst: 160\r\nEvent: 7\r\n\r\n" + samples},
      {"mqtt_cut", "RUNNEL/1\r\nFormat: s16 16000 1\r\nFirst: 160"},
  };
}

}  // namespace runnel::fleet::test
