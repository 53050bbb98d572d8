// The exchange of a fleet (exchange.h) on NATS with JetStream. Logs are subjects of JetStream streams, their
// conditions are JetStream's ("Nats-Expected-Last-Subject-Sequence"), entries and beats are in a key-value
// bucket. Requests are those of the server's own JSON interface (docs.nats.io, "JetStream wire API"), because
// none of them may wait for its answer.
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
  std::uint64_t list(std::string_view filter) override;
  std::uint64_t follow(std::string_view subject, std::uint64_t from) override;
  std::uint64_t watch(std::string_view filter) override;
  void leave(std::uint64_t feed) override;
  void remove(std::string_view subject) override;

  // What has come, or comes within so many milliseconds; false: nothing.
  bool next(Happening& out, int milliseconds);
  // Sends what waits, at most so many milliseconds.
  void flush(int milliseconds) { wire_->flush(milliseconds); }
  // Messages and bytes sent, for measurements.
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }
  [[nodiscard]] bool connected() const noexcept { return wire_->connected(); }
  // The server refuses this user now: nothing more comes (Wire::closed()).
  [[nodiscard]] bool closed() const noexcept { return wire_->closed(); }

 private:
  enum class Kind : std::uint8_t { append, last, direct, list, check, other };
  struct Request {
    Kind kind = Kind::other;
    std::chrono::steady_clock::time_point deadline;
    std::string filter;
    std::vector<std::string> subjects;       // list: pages so far
    std::uint64_t feed = 0, generation = 0;  // check
  };
  struct Feed {
    std::string filter, stream, consumer;
    std::uint64_t next = 0;        // sequence from which it goes on
    std::uint64_t generation = 0;  // of its consumer
    std::uint64_t delivered = 0;   // by this consumer
    bool watch = false;
    std::chrono::steady_clock::time_point heard;  // anything, heartbeats too
    // A consumer whose server fell behind sends heartbeats and no messages: after a while without any, the
    // last message of the log is asked for.
    std::chrono::steady_clock::time_point checked;  // a message came, or the log was asked
    std::chrono::milliseconds patience{0};          // until the next time
  };
  std::uint64_t ask(Kind kind, std::string_view subject, const Headers& headers, std::string_view data,
                    std::string_view filter = {});
  void fail(std::uint64_t request, std::string why);
  std::uint64_t feed_of(std::string_view filter, std::uint64_t from, bool watch);
  void start(std::uint64_t number, Feed& feed);
  void check(std::uint64_t number, Feed& feed, std::chrono::steady_clock::time_point now);
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

  std::mutex mutex_;  // guards the two below, which the library's thread fills
  std::condition_variable came_;
  std::deque<WireMessage> incoming_;
};

// Base64 as JetStream writes it. Error: invalid_data.
Result<std::vector<std::byte>> from_base64(std::string_view text);
// "NATS/1.0\r\nName: value\r\n..."
Headers headers_in(std::string_view block);

}  // namespace runnel::fleet
