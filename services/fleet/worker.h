// One worker of a fleet: it takes its share of the streams, runs them, and hands them over when others come
// or it leaves. It talks to other workers through the exchange only (exchange.h), and it decides nothing
// alone that must be true for all.
//
// Ownership serves order and economy: at most one worker should run a stream at a time. Results do not depend
// on it. Should two run the same stream, because one was paused and does not know yet that another has its
// place, the log of events still gets each event once (owned_stream.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "services/fleet/beats.h"
#include "services/fleet/exchange.h"
#include "services/fleet/graphs/library.h"
#include "services/fleet/graphs/rules.h"
#include "services/fleet/older.h"
#include "services/fleet/owned_stream.h"
#include "services/fleet/runner.h"
#include "services/fleet/share_out.h"

namespace runnel::fleet {

using Time = std::chrono::nanoseconds;  // of a clock that never goes back

struct WorkerOptions {
  std::string id;                     // unique among all processes that ever were: letters, digits, - and _
  std::string input = "audio.>";      // streams: each subject that it covers is one
  std::string events = "events";      // the events of stream S are in the log events.S
  std::string apart = "apart";        // its chunks that cannot be used are in apart.S
  std::string bucket = "$KV.runnel";  // entries are in bucket.s.S, beats in bucket.w.ID, rules in bucket.d
  Time beat = std::chrono::milliseconds(400);
  std::uint64_t missed = 4;  // beats
  Time save = std::chrono::seconds(5);
  Time list = std::chrono::seconds(1);
  std::size_t most_claims = 64;  // under way at a time
  std::size_t most_streams = limits::kWorkerStreams;
  OwnedStream::Limits limits;
};

struct WorkerFacts {
  std::size_t streams = 0;  // owned now
  std::size_t known = 0;    // in the fleet
  std::size_t workers = 0;  // that live
  std::uint64_t events = 0, saves = 0, saved_bytes = 0;
  std::uint64_t taken = 0, handed_over = 0, lost = 0;  // streams
  std::uint64_t refused = 0;                           // streams of another graph
  std::uint64_t changed = 0;                           // graphs of streams
  ChunkCounts chunks;
};

// One stream as a worker sees it, for those who look for what is wrong.
struct StreamFacts {
  std::string name;
  std::string_view place;  // elsewhere, reading, claiming, asking, here
  std::string owner;       // by the newest entry that it knows
  std::uint64_t sequence = 0, version = 0, covered = 0, events = 0, feed = 0;
  std::size_t waiting = 0;  // chunks
  bool mine = false;        // by the last sharing
  bool refused = false, saving = false, handing_over = false, settled = false, broken = false;
};

// Not thread-safe.
class Worker {
 public:
  // Both outlive the worker. `runner` hears streams for which there is no rule (rules.h); others are made by
  // `make` of what is in the exchange, without which their streams are refused.
  Worker(Exchange& exchange, Runner& runner, WorkerOptions options, MakeRunner make = {});
  ~Worker();

  void happened(Happening happening);
  // Does what is due. True: chunks are waiting, call again at once.
  bool work(Time now);
  // Hands all streams over, and takes none. left(): that is done.
  void leave();
  [[nodiscard]] bool left() const noexcept;

  [[nodiscard]] WorkerFacts facts() const;
  // Of every stream that it has, or should have.
  [[nodiscard]] std::vector<StreamFacts> stream_facts() const;
  // Names of the streams that it owns, in alphabetical order.
  [[nodiscard]] std::vector<std::string> streams() const;
  // Sentences since the last call: each kind of trouble once a minute at most.
  std::vector<std::string> take_news();

 private:
  struct Stream;
  enum class Kind : std::uint8_t { beat, list, rules, read, claim, log, event, save, other };
  struct Request {
    Kind kind = Kind::other;
    std::string stream;
  };

  void ask(std::uint64_t request, Kind kind, std::string_view stream = {});
  void answered(const Answer& answer);
  void delivered(Message message, std::uint64_t feed);
  void entry_seen(std::string_view name, const Message& message);
  void rules_read(const Answer& answer);
  void apply_rules(Stream& it) const;
  Stream& stream(std::string_view name);
  [[nodiscard]] std::string entry_subject(std::string_view name) const;

  void beat(Time now);
  void share(Time now);
  void claim(Stream& it);
  void read(Stream& it, const Answer& answer);
  void claimed(Stream& it, const Answer& answer);
  void log_known(Stream& it, const Answer& answer);
  void event_answered(Stream& it, const Answer& answer);
  void save(Stream& it, Time now, bool hand_over);
  void save_answered(Stream& it, const Answer& answer);
  std::uint64_t write(const Stream& it, const Entry& entry, const std::vector<std::byte>& data);
  void drop(Stream& it);
  void broke(Stream& it, const Status& status);
  bool hear();
  void advance(Stream& it, Time now);
  void trouble(std::string_view kind, std::string sentence);

  Exchange& exchange_;
  Runner& runner_;
  WorkerOptions options_;
  Library library_;
  Rules rules_;
  bool rules_due_ = true, rules_asked_ = false, rules_known_ = false;
  std::uint64_t rules_sequence_ = 0;  // of the newest that are known of, read or not
  Older older_rules_;                 // answers about them
  Beats beats_;
  Time now_{0}, next_beat_{0}, next_list_{0}, next_rules_{0};
  bool beating_ = false, leaving_ = false, said_goodbye_ = false, shares_changed_ = true;
  std::uint64_t watch_ = 0, watched_ = 0;  // the feed, and the last sequence that it gave
  std::size_t claims_ = 0, owned_ = 0;
  std::map<std::string, std::unique_ptr<Stream>, std::less<>> streams_;
  std::map<std::uint64_t, Request> requests_;
  std::map<std::uint64_t, Stream*> feeds_;
  WorkerFacts facts_;
  ChunkCounts gone_;  // of streams that were owned before
  std::map<std::string, Time, std::less<>> told_;
  std::vector<std::string> news_;
};

}  // namespace runnel::fleet
