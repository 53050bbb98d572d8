// The exchange of a fleet (exchange.h) on NATS with JetStream. Logs are subjects of JetStream streams, their
// conditions are JetStream's ("Nats-Expected-Last-Subject-Sequence"), entries and beats are in a key-value
// bucket. Requests are those of the server's own JSON interface (docs.nats.io, "JetStream wire API"), because
// none of them may wait for its answer.
//
// What may be older than the truth, where a log is on several servers, and why that does no harm:
//
//   append    The leader compares the condition with what it has stored itself, and then proposes the message
//             to the others: two that are under way at once may both pass (nats-server issue 4320, in all of
//             2.9). When a message is stored, the same on every server, they compare its Nats-Msg-Id. So a
//             message with a condition has an id, that of its caller or one made of subject and condition:
//             only one can follow a message. "Duplicate" then means that another one was there before:
//             outdated. Ids are kept for two minutes; no message is under way for so long. Where only the
//             last message of a subject is kept, a server that starts again knows the ids of those alone, and
//             may read the end of its log twice: then a message is the last one again that was overwritten,
//             and the id of the one that came after it is taken. Copies of 2.9 were
//             seen to number the same messages differently after servers had been killed, which by their
//             source comes of messages that are refused when they are stored: callers ask first where that is
//             likely, and compare numbers of their own (Runnel-Version, Runnel-Event), not sequences.
//   last, first   STREAM.MSG.GET is answered by the leader alone. But one that was cut off, or stopped,
//   thinks
//             for some seconds that it still leads, and a new one may not have read all yet. So an answer may
//             be older than what this client saw before: callers compare (older.h).
//   direct    After know(): any server of the log answers. For senders only, whose next message has the
//             sequence for its condition: if it is old, the message is refused and they ask again.
//   list      STREAM.INFO, as last(): subjects may be missing for a while, or be there that are gone: callers
//   wait until many
//             lists say so.
//   follow, watch   A consumer is on one server, gives what this one has, in order, and goes on when that
//             catches up, but is not always woken up then: look_after() compares with the log. A watch that
//             begins anew repeats some, because the next server may number lower.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "services/fleet/exchange.h"
#include "services/fleet/nats/wire.h"

namespace runnel::fleet {

// Which JetStream stream has a subject.
struct LogStream {
  std::string subjects;  // "audio.>"
  std::string stream;    // "AUDIO"
  bool direct = false;   // last() asks for one subject, which a server can allow by itself
  std::size_t copies = 1;
};

class JetStream final : public Exchange {
 public:
  // Answers that take longer count as failed.
  static constexpr std::chrono::milliseconds kPatience{2000};

  explicit JetStream(std::unique_ptr<Wire> wire);
  ~JetStream() override;

  // Connects. Errors: those of Wire::open.
  Status open(const Wire::Settings& settings);
  // Finds the stream of a subject, and makes it where there is none and `replicas` is not 0: its messages are
  // kept on so many servers, at most `days` long. `latest`: only the last message of each subject, as a
  // key-value bucket has it. Waits for the answers. Errors: not_found, io_error with what the server says.
  struct Wanted {
    std::string subjects, stream;
    int replicas = 0;
    double days = 0;  // 0: as long as there is room
    bool latest = false;
  };
  Status use(const Wanted& wanted);
  // The same without a question to the server, for users that may ask for nothing but their own subjects: it
  // must be there. last() is then answered only where the stream has `allow_direct`, as those that use()
  // makes, and may be a message late where there are replicas.
  void know(std::string_view subjects, std::string_view stream);

  std::uint64_t append(std::string_view subject, std::uint64_t after, const Headers& headers,
                       std::string_view data) override;
  std::uint64_t last(std::string_view subject) override;
  std::uint64_t first(std::string_view subject, std::uint64_t from) override;
  std::uint64_t list(std::string_view filter) override;
  std::uint64_t follow(std::string_view subject, std::uint64_t from) override;
  std::uint64_t watch(std::string_view filter) override;
  void leave(std::uint64_t feed) override;
  [[nodiscard]] std::size_t copies(std::string_view subject) const override;
  void remove(std::string_view subject, std::uint64_t last) override;

  // What has come, or comes within so many milliseconds; false: nothing.
  bool next(Happening& out, int milliseconds);
  // Sends what waits, at most so many milliseconds.
  void flush(int milliseconds) { wire_->flush(milliseconds); }
  // How a feed gets on, for those who look for what is wrong: its consumer, the sequence that it waits for,
  // and for how long nothing was heard of it. "": there is no such feed.
  [[nodiscard]] std::string describe(std::uint64_t feed) const;
  // Messages and bytes sent, for measurements.
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }
  [[nodiscard]] bool connected() const noexcept { return wire_->connected(); }
  // The server refuses this user now: nothing more comes (Wire::closed()).
  [[nodiscard]] bool closed() const noexcept { return wire_->closed(); }

 private:
  enum class Kind : std::uint8_t { append, last, direct, list, check, create, other };
  struct Request {
    Kind kind = Kind::other;
    std::chrono::steady_clock::time_point deadline;
    std::string filter;
    std::vector<std::string> subjects;       // list: pages so far
    bool conditional = false;                // append
    std::uint64_t feed = 0, generation = 0;  // check, create
  };
  struct Feed {
    std::string filter, stream, consumer;
    std::uint64_t next = 0;        // sequence from which it goes on
    std::uint64_t generation = 0;  // of its consumer
    std::uint64_t delivered = 0;   // by this consumer
    bool watch = false;
    std::uint64_t newest = 0;  // what names the last message, whatever its copy calls it; 0: none came
    std::chrono::steady_clock::time_point heard;  // anything, heartbeats too
    // A consumer whose server fell behind sends heartbeats and no messages: after a while without any, the
    // last message of the log is asked for.
    std::chrono::steady_clock::time_point checked;  // a message came, or the log was asked
    std::chrono::milliseconds patience{0};          // until the next time
    std::uint64_t listed = 0;                       // messages of the subject by the last list
  };
  std::uint64_t ask(Kind kind, std::string_view subject, const Headers& headers, std::string_view data,
                    std::string_view filter = {});
  void fail(std::uint64_t request, std::string why);
  std::uint64_t feed_of(std::string_view filter, std::uint64_t from, bool watch);
  void start(std::uint64_t number, Feed& feed);
  void check(std::uint64_t number, Feed& feed, std::chrono::steady_clock::time_point now);
  void checked(std::uint64_t number, Feed& feed, Message last);
  // A list of subjects with their numbers of messages: feeds that have not heard of it are checked soon.
  using Counts = std::map<std::string, std::uint64_t, std::less<>>;
  void compare(const Counts& counts);
  [[nodiscard]] const LogStream* log_of(std::string_view subject) const;
  [[nodiscard]] const std::string* stream_of(std::string_view subject) const;
  void page(std::uint64_t number, const std::string& filter, std::size_t offset);
  // From the message of the server to what happened; false: nothing for the user.
  bool read(WireMessage& message, Happening& out);
  bool read_answer(std::uint64_t number, WireMessage& message, Happening& out);
  bool read_delivery(std::uint64_t feed, std::uint64_t generation, WireMessage& message, Happening& out);
  void look_after();

  std::unique_ptr<Wire> wire_;
  std::string name_;  // of consumers, before their numbers
  std::vector<LogStream> streams_;
  std::uint64_t numbers_ = 0, sent_bytes_ = 0, seen_connections_ = 0;
  std::map<std::uint64_t, Request> requests_;
  std::map<std::uint64_t, Feed> feeds_;
  std::chrono::steady_clock::time_point looked_;
  std::deque<Happening> ready_;
  std::deque<WireMessage> arrived_;  // taken out of incoming_, not read yet

  std::mutex mutex_;  // guards the two below, which the library's thread fills
  std::condition_variable came_;
  std::deque<WireMessage> incoming_;
};

// Base64 as JetStream writes it. Error: invalid_data.
Result<std::vector<std::byte>> from_base64(std::string_view text);
// "NATS/1.0\r\nName: value\r\n..."
Headers headers_in(std::string_view block);

}  // namespace runnel::fleet
