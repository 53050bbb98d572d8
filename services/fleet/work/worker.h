// One worker of a fleet: it takes its share of the streams, runs them, and hands them over when others come
// or it leaves. It talks to other workers through the exchange only (exchange.h), and it decides nothing
// alone that must be true for all.
//
// What a worker does costs what happens to its own streams: of the others it keeps a name and an owner, and
// hears of them only when they move (note.h).
//
// Ownership serves order and economy: at most one worker should run a stream at a time. Results do not depend
// on it. Should two run the same stream, because one was paused and does not know yet that another has its
// place, the log of events still gets each event once (owned_stream.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "services/fleet/beats.h"
#include "services/fleet/exchange.h"
#include "services/fleet/graphs/library.h"
#include "services/fleet/graphs/rules.h"
#include "services/fleet/look.h"
#include "services/fleet/older.h"
#include "services/fleet/owned_stream.h"
#include "services/fleet/runner.h"
#include "services/fleet/shares.h"

namespace runnel::fleet {

using Time = std::chrono::nanoseconds;  // of a clock that never goes back

struct WorkerOptions {
  std::string id;                 // unique among all processes that ever were: letters, digits, - and _
  std::string input = "audio.>";  // streams: each subject that it covers is one
  std::string events = "events";  // the events of stream S are in the log events.S
  std::string apart = "apart";    // its chunks that cannot be used are in apart.S
  // Entries are in bucket.s.S, notes in bucket.o.S, beats in bucket.w.ID, rules in bucket.d.
  std::string bucket = "$KV.runnel";
  Time beat = std::chrono::milliseconds(400);
  std::uint64_t missed = 4;  // beats
  Time save = std::chrono::seconds(5);
  Time list = std::chrono::seconds(1);   // between two looks for new streams; longer where there are many
  Time look = std::chrono::seconds(30);  // between two looks at all entries; longer where there are many
  // Under way at a time: each is three questions and a state.
  std::size_t most_claims = 1024;
  // Of chunks of one stream that wait: then no more are taken from its log for a while.
  std::size_t most_waiting_bytes = std::size_t{1} << 22;
  std::size_t most_streams = limits::kWorkerStreams;
  OwnedStream::Limits limits;
  std::function<Time()> clock;  // for the lateness of chunks; without: it is not measured
};

struct WorkerFacts {
  static constexpr std::size_t kMostNamed = 200;

  std::size_t streams = 0;  // owned now
  std::size_t known = 0;    // in the fleet
  std::size_t workers = 0;  // that live
  std::uint64_t events = 0, saves = 0, saved_bytes = 0;
  std::uint64_t taken = 0, handed_over = 0, lost = 0;  // streams
  std::uint64_t refused = 0;                           // streams of another graph
  std::uint64_t changed = 0;                           // graphs of streams
  std::uint64_t corrected = 0;  // streams of which their entry said whose they are before a note did
  // Chunks that were in the log when their stream was taken: heard again, or by nobody yet.
  std::uint64_t behind = 0;
  std::size_t graphs_here = 0;                  // that it can run, its own included
  std::map<std::uint32_t, std::size_t> graphs;  // owned streams, by graph
  std::map<std::string, std::size_t> shares;    // streams of all workers that live, as far as it is known
  std::vector<std::pair<std::string, std::uint32_t>> own;  // streams, with their graphs; at most kMostNamed
  ChunkCounts chunks;
};

// One stream as a worker sees it, for those who look for what is wrong.
struct StreamFacts {
  std::string name;
  std::string_view place;  // elsewhere, reading, claiming, asking, here
  std::string owner;       // by the newest note or entry that it knows
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
  // For each chunk since the last call: from its arrival to the end of the step that heard it.
  std::vector<Time> take_lateness() { return std::exchange(lateness_, {}); }
  // Names of the streams that it owns, in alphabetical order.
  [[nodiscard]] std::vector<std::string> streams() const;
  // Sentences since the last call: each kind of trouble once a minute at most.
  std::vector<std::string> take_news();

 private:
  using Id = Shares::Id;
  struct Stream;
  struct Holding;
  enum class Kind : std::uint8_t {
    beat,
    list,
    rules,
    read,
    claim,
    log,
    end,
    event,
    save,
    note,
    doubt,
    other
  };
  struct Request {
    Kind kind = Kind::other;
    Id stream = 0;
    std::uint64_t holding = 0;  // its number; a later one has nothing to do with it
  };

  void ask(std::uint64_t request, Kind kind);
  void ask(std::uint64_t request, Kind kind, const Stream& it);
  void answered(const Answer& answer);
  void delivered(Delivery delivery);
  void note_seen(std::string_view name, const Message& message);
  void entry_seen(std::string_view name, const Message& message);
  void rules_read(const Answer& answer);
  void apply_rules(Stream& it) const;
  void remove_old_beats();
  Stream& stream(std::string_view name);
  Stream& at(Id id) const { return *by_id_[id]; }
  void owned_by(Stream& it, std::string_view owner, std::uint64_t version);
  void forget(Stream& it);
  [[nodiscard]] std::string entry_subject(const Stream& it) const;

  void touch(Stream& it);
  void wake(const Stream& it, Time when);
  void beat(Time now);
  [[nodiscard]] bool finds() const;
  void find_streams(Time now);
  void listed(const std::vector<std::string>& names);
  void share(Time now);
  void tell(Stream& it, Time when);
  void send_note(Stream& it);
  void note_answered(Stream& it, const Answer& answer);
  void claim(Stream& it);
  void give_up_claim(Stream& it);
  void read(Stream& it, const Answer& answer);
  void claimed(Stream& it, const Answer& answer);
  void ask_log(Stream& it);
  void log_known(Stream& it, const Answer& answer);
  void end_known(Stream& it, const Answer& answer);
  void event_answered(Stream& it, const Answer& answer);
  void save(Stream& it, Time now, bool hand_over);
  void save_answered(Stream& it, const Answer& answer);
  std::uint64_t write(const Stream& it, const Entry& entry, const std::vector<std::byte>& data);
  void follow_on(Stream& it);
  void stop_following(Stream& it);
  void look_into_doubt(Stream& it);
  void take_chunk(Stream& it, Message message, std::uint64_t feed);
  void drop(Stream& it);
  void broke(Stream& it, const Status& status);
  bool hear(const std::vector<Id>& due);
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
  Look look_;
  Time now_{0}, next_beat_{0}, next_list_{0}, next_rules_{0}, first_since_{0};
  bool beating_ = false, listing_ = false, leaving_ = false, said_goodbye_ = false;
  bool living_changed_ = true, shares_changed_ = true;
  Time next_share_{0};
  std::uint64_t watch_beats_ = 0, watch_notes_ = 0, watch_rules_ = 0;  // feeds
  std::uint64_t seen_beats_ = 0, seen_notes_ = 0;                      // the last sequences that they gave
  std::size_t claims_ = 0, owned_ = 0, held_ = 0;
  std::size_t homeless_ = 0;  // streams whose owner does not live, by the last sharing
  std::size_t tells_ = 0;     // notes that are due or under way
  std::uint64_t holdings_ = 0, sharings_ = 0, lists_ = 0;  // so far
  std::vector<std::string> living_;
  Shares shares_;
  struct NameHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::unique_ptr<Stream>, NameHash, std::equal_to<>> streams_;
  std::vector<Stream*> by_id_;       // null: no stream has the number now
  std::vector<Id> mine_;             // by the last sharing
  std::vector<Id> touched_;          // to whom something happened
  std::deque<Id> waiting_to_claim_;  // until others are claimed
  // When something is due, of streams that may be gone or have done it long ago.
  using Due = std::pair<Time, Id>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::unordered_map<std::uint64_t, Request> requests_;
  std::unordered_map<std::uint64_t, Id> feeds_;
  WorkerFacts facts_;
  ChunkCounts gone_;  // of streams that were owned before
  std::map<std::string, Time, std::less<>> told_;
  std::vector<std::string> news_;
  std::vector<Time> lateness_;
};

}  // namespace runnel::fleet
