// What a worker and a sender of a fleet read besides messages with sound (tests/services/fleet/feed.h):
// records of graphs, rules, trials, notes and changes; the answers of servers, in any order; the spool of a
// sender.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "services/fleet/entry.h"
#include "services/fleet/graphs/graph_record.h"
#include "services/fleet/graphs/rules.h"
#include "services/fleet/nats/jetstream.h"
#include "services/fleet/nats/jetstream_queue.h"
#include "services/fleet/note.h"
#include "services/fleet/recordings/trial.h"
#include "services/fleet/send/spool.h"
#include "tests/fuzz/readers/memory_file.h"
#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {
namespace {

using namespace fleet;  // NOLINT(google-build-using-namespace)

// Written and read again it is the same.
template <class Read, class Write>
Status there_and_back(Read read, Write write, std::string_view text) {
  RUNNEL_ASSIGN(const auto found, read(text));
  const auto again = read(write(found));
  insist(again.ok() && *again == found, "it is another one when it was written");
  return {};
}

// The first byte says which kind of record it is.
Status feed_fleet_record(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status(Code::invalid_data, "nothing");
  const std::string_view text = text_of(bytes.subspan(1));
  switch (std::to_integer<char>(bytes.front())) {
    case 'g':
      return there_and_back(
          read_graph_record, [](const GraphRecord& one) { return fleet::text_of(one); }, text);
    case 'r':
      return there_and_back(
          read_rules, [](const Rules& one) { return fleet::text_of(one); }, text);
    case 'c':
      return there_and_back(
          read_change, [](const Change& one) { return fleet::text_of(one); }, text);
    case 't': {
      RUNNEL_ASSIGN(const Trial trial, parse_trial(text));
      insist(parse_trial(fleet::text_of(trial)).ok(), "a trial that cannot be read when it was written");
      return {};
    }
    case 'n': {
      RUNNEL_ASSIGN(const Note note, read_note(headers_in(text)));
      const auto again = read_note(headers_of(note));
      insist(again.ok() && *again == note, "a note that is another one when it was written");
      return {};
    }
    case 'e': {
      RUNNEL_ASSIGN(const Entry entry, read_entry(headers_in(text)));
      const auto again = read_entry(headers_of(entry));
      insist(again.ok() && *again == entry, "an entry that is another one when it was written");
      return {};
    }
    default:
      return Status(Code::invalid_data, "no kind of record");
  }
}

// A server that says what the input says. The input has messages: a line with subject, reply and status, the
// lines of its headers, an empty line, and its data, up to a line of a dot.
class Server final : public Wire {
 public:
  Status open(const Settings&, Arrives arrives) override {
    arrives_ = std::move(arrives);
    return {};
  }
  [[nodiscard]] std::string_view inbox() const noexcept override { return "_I.x."; }
  [[nodiscard]] std::uint64_t connections() const noexcept override { return 1; }
  [[nodiscard]] bool connected() const noexcept override { return true; }
  [[nodiscard]] bool closed() const noexcept override { return false; }
  std::string take_complaint() override { return {}; }
  Status listen(std::string_view) override { return {}; }
  void unlisten(std::string_view) noexcept override {}
  Status publish(std::string_view, std::string_view reply, const Headers&, std::string_view) override {
    if (++published_ > kMostPublished) return Status(Code::io_error, "enough");
    if (answers_ && !reply.empty()) give(next(reply));
    return {};
  }
  void flush(int) override {}

  // From here on whoever asks gets the next message as the answer, an empty one behind the last: nobody
  // waits.
  void answers(std::string_view text) {
    rest_ = text;
    answers_ = true;
  }
  void is_silent() { answers_ = false; }
  // Sends the next message by itself; false: there is none.
  bool send() {
    if (rest_.empty()) return false;
    give(next({}));
    return true;
  }

 private:
  static constexpr int kMostPublished = 1000;

  void give(WireMessage message) {
    std::vector<WireMessage> one;
    one.push_back(std::move(message));
    arrives_(one);
  }
  std::string_view line() {
    const std::string_view found = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(found.size() + 1, rest_.size()));
    return found;
  }
  WireMessage next(std::string_view reply) {
    WireMessage message;
    const std::string_view first = line();
    const std::size_t space = std::min(first.find(' '), first.size());
    message.subject = reply.empty() ? first.substr(0, space) : reply;
    message.reply = first.substr(std::min(space + 1, first.size()));
    message.reply.resize(std::min(message.reply.find(' '), message.reply.size()));
    if (first.ends_with(" 503")) message.status = 503;
    if (first.ends_with(" 404")) message.status = 404;
    if (first.ends_with(" 100")) message.status = 100;
    std::string headers = "NATS/1.0\r\n";
    for (std::string_view header = line(); !header.empty(); header = line())
      headers += std::string(header) + "\r\n";
    message.headers = headers_in(headers);
    const std::size_t end = rest_.find("\n.\n");
    const auto data = bytes_of(rest_.substr(0, end));
    message.data.assign(data.begin(), data.end());
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 3);
    return message;
  }

  Arrives arrives_;
  std::string_view rest_;
  bool answers_ = false;
  int published_ = 0;
};

Wire::Settings settings() {
  Wire::Settings out;
  out.urls = "nats://127.0.0.1:4222";
  return out;
}

Status feed_jetstream(std::span<const std::byte> bytes) {
  auto made = std::make_unique<Server>();
  Server& server = *made;
  JetStream exchange(std::move(made));
  RUNNEL_TRY(exchange.open(settings()));
  exchange.know("direct.>", "DIRECT");
  server.answers(text_of(bytes));
  RUNNEL_TRY(exchange.use({"audio.>", "AUDIO", 1, 1, false}));
  server.is_silent();
  exchange.append("audio.a", 7, {}, "x");
  exchange.last("audio.a");
  exchange.list("audio.>");
  exchange.last("direct.a");
  exchange.follow("audio.a", 3);
  exchange.watch("audio.>");
  Happening out;
  for (int happened = 0; happened < 200 && server.send();) {
    while (exchange.next(out, 0)) {
      ++happened;
      if (const auto* answer = std::get_if<Answer>(&out); answer != nullptr)
        insist(answer->outcome != Answer::Outcome::failed || !answer->why.empty(), "a failure without text");
    }
  }
  return {};
}

Status feed_queue(std::span<const std::byte> bytes) {
  auto made = std::make_unique<Server>();
  Server& server = *made;
  JetStreamQueue queue(std::move(made));
  // Opening it asks for six things and needs their answers.
  server.answers(text_of(bytes));
  JetStreamQueue::Options options;
  options.name = "q";
  RUNNEL_TRY(queue.open(settings(), options));
  static_cast<void>(queue.state());
  static_cast<void>(queue.note("note.1"));
  queue.pull(2);
  QueueItem item;
  while (server.send()) {
    while (queue.next(item, 0)) queue.acknowledge(item);
  }
  static_cast<void>(queue.confirmed());
  return {};
}

constexpr std::string_view kStream = "audio.a";

Status feed_spool(std::span<const std::byte> bytes) {
  static MemoryFile file(".spool");
  // The ring is behind what the input has, empty.
  std::string content(text_of(bytes));
  if (content.size() > 4096) content.resize(4096 + Spool::kLeastBytes);
  RUNNEL_ASSIGN(const auto spool, Spool::open(file.with(bytes_of(content)), kStream, Spool::kLeastBytes));
  insist(spool->samples() >= 0 && spool->bytes() <= Spool::kLeastBytes, "more than a spool has room for");
  for (int i = 0; i < 100; ++i) {
    RUNNEL_ASSIGN(const auto piece, spool->front(1000));
    if (!piece) break;
    insist(piece->chunk.samples >= 0, "a piece of less than nothing");
    RUNNEL_TRY(spool->stored(piece->chunk.run, piece->next(), piece->chunk.end));
  }
  Piece piece;
  piece.chunk.run = spool->run() + 1;
  piece.chunk.samples = 10;
  piece.data.resize(20);
  return spool->put(piece).status();
}

std::string spool_seed() {
  MemoryFile file(".spool");
  {
    auto made = Spool::open(file.path(), kStream, Spool::kLeastBytes);
    if (!made.ok()) return {};
    Piece piece;
    piece.chunk.run = 3;
    piece.chunk.samples = 5;
    piece.data.resize(10);
    static_cast<void>((*made)->put(piece));
  }
  // The ring is empty behind its first record.
  std::string content = file.content();
  content.resize(std::min<std::size_t>(content.size(), 5500));
  return content;
}

}  // namespace

std::vector<Reader> fleet_readers() {
  const std::string sum(64, 'a');
  GraphRecord record;
  record.identity = 0x0123abcd;
  record.name = "digits";
  record.version = "0.1";
  record.around = "infer model=model:0 ! detect";
  record.models = {{sum, 7, {}}};
  record.labels = {"0", "1"};
  Rules rules;
  static_cast<void>(rules.add({"audio.hall.>", 7, 100, "digits", 1764212430000000000}));
  static_cast<void>(rules.add({"audio.>", 8, {}, "wake", 1764212430000000000}));
  Trial trial;
  trial.tries = 2;
  trial.recording = "a.wav";
  trial.worker = "w";
  Change change;
  change.count = 1;
  change.covered = 4;
  change.run = 7;
  return {
      {"fleet_record",
       feed_fleet_record,
       {"g" + fleet::text_of(record), "r" + fleet::text_of(rules), "c" + fleet::text_of(change),
        "t" + fleet::text_of(trial), "nNATS/1.0\r\nRunnel-Owner: w\r\nRunnel-Entry: 7\r\n",
        "eNATS/1.0\r\nRunnel-Owner: w\r\nRunnel-Graph: 0123abcd\r\nRunnel-Covered: 4\r\nRunnel-Run: 7\r\n"
        "Runnel-Next: 320\r\nRunnel-Events: 2\r\nRunnel-Format: s16 16000 1\r\n"}},
      {"jetstream",
       feed_jetstream,
       {"a\n\n{\"config\":{}}\n.\n"
        "_I.x.a.2\n\n{\"stream\":\"AUDIO\",\"seq\":8,\"duplicate\":false}\n.\n"
        "_I.x.a.3\n\n{\"message\":{\"subject\":\"audio.a\",\"seq\":8,\"hdrs\":\"TkFUUy8xLjANCg0K\",\"data\":"
        "\"AAEC\"}}\n.\n"
        "_I.x.a.4\n\n{\"total\":1,\"offset\":0,\"state\":{\"subjects\":{\"audio.a\":8}}}\n.\n"
        "_I.x.a.5\nNats-Subject: direct.a\nNats-Sequence: 3\n\nxy\n.\n"
        "audio.a $JS.ACK.AUDIO.runnel_x-6-1.1.3.1.1764212430.0\nRunnel-First: 0\n\nabcd\n.\n"
        "_I.x.f.6.1 r 100\nNats-Last-Consumer: 9\n\n\n.\n",
        "a\n\n{\"error\":{\"code\":404,\"err_code\":10059,\"description\":\"stream not found\"}}\n.\n"
        "a\n\n{\"config\":{}}\n.\n_I.x.a.3\n\n{\"error\":{\"err_code\":10071,\"description\":\"wrong\"}}\n."
        "\n"}},
      {"queue",
       feed_queue,
       {"a\n\n{\"created\":\"2026-11-27\"}\n.\na\n\n{\"created\":\"2026-11-27\"}\n.\n"
        "a\n\n{\"config\":{\"ack_wait\":30000000000}}\n.\na\n\n{\"num_pending\":3,\"num_ack_pending\":1}\n.\n"
        "a\n\n{\"state\":{\"last_seq\":7}}\n.\na\n\n{\"message\":{\"seq\":3,\"data\":\"AAEC\"}}\n.\n"
        "a\n\n\n.\nqueue.q.recording.k $JS.ACK.S.C.1.3.1.1764212430.0\n\n{\"path\":\"a.wav\"}\n.\n"}},
      {"spool", feed_spool, {spool_seed()}},
  };
}

}  // namespace runnel::fuzz
