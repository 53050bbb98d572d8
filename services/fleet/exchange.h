// What a fleet asks of the system that carries its messages: logs by subject, kept and replicated, with a
// condition for appending. NATS with JetStream has all of it (nats/); tests have one in memory that loses and
// delays.
//
// Everything that must be true for all workers is decided by one operation: a message is stored on a subject
// only if the last one there is the one that the sender knows. Who knows an older one is told so, and changes
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace runnel::fleet {

using Headers = std::vector<std::pair<std::string, std::string>>;

// A message with a header of this name has a name of its own, and is stored once: within two minutes another
// one of the same name is not. With a condition, that one is outdated; without, it is done.
constexpr std::string_view kMessageId = "Nats-Msg-Id";

// The value of a header; null: there is none.
const std::string* find(const Headers& headers, std::string_view name) noexcept;

struct Message {
  std::string subject;
  std::uint64_t sequence = 0;  // grows along each log, from 1
  Headers headers;
  std::vector<std::byte> data;
};

// Whether a subject is one of those that a filter means: its own name, * for one part, > for any that follow.
bool covers(std::string_view filter, std::string_view subject) noexcept;

// Of a request, under the number that it returned.
struct Answer {
  enum class Outcome : std::uint8_t {
    done,
    outdated,  // another message came before: nothing was stored
    failed,    // unknown: it may have been stored or not
  };
  std::uint64_t request = 0;
  Outcome outcome = Outcome::failed;
  std::uint64_t sequence = 0;         // append: of the stored message
  std::optional<Message> message;     // last, first: nothing where the log is empty
  std::vector<std::string> subjects;  // list
  std::string why;                    // failed
};

// A message of a log that is followed.
struct Delivery {
  std::uint64_t feed = 0;
  Message message;
  std::uint64_t waiting = 0;  // of a watch: messages behind it that are there already, as far as is known
};

using Happening = std::variant<Answer, Delivery>;

// One thread calls it. Requests return at once; what comes of them is given by next(), in any order. A lost
// connection is resumed by the exchange itself: requests under way fail, feeds go on where they were.
class Exchange {
 public:
  // No condition for an append.
  static constexpr std::uint64_t kAnyway = ~std::uint64_t{0};

  virtual ~Exchange() = default;
  // Stores a message if the last one on its subject has the sequence `after`; 0: if there is none.
  virtual std::uint64_t append(std::string_view subject, std::uint64_t after, const Headers& headers,
                               std::string_view data) = 0;
  // The last message of a subject.
  virtual std::uint64_t last(std::string_view subject) = 0;
  // The first message of a subject from a sequence on; nothing where there is none yet.
  virtual std::uint64_t first(std::string_view subject, std::uint64_t from) = 0;
  // The subjects with messages that `filter` covers ("audio.>").
  virtual std::uint64_t list(std::string_view filter) = 0;
  // Messages of a subject from a sequence on, in their order, each at least once. Returns the feed's number.
  virtual std::uint64_t follow(std::string_view subject, std::uint64_t from) = 0;
  // The last message of each subject that `filter` covers, without its data, and every further one.
  virtual std::uint64_t watch(std::string_view filter) = 0;
  virtual void leave(std::uint64_t feed) = 0;
  // Servers that keep the log of a subject, as far as it is known; what they have may differ.
  [[nodiscard]] virtual std::size_t copies(std::string_view subject) const = 0;
  // Takes the messages of a subject up to a sequence away; kAll: every one. Without an answer: it may fail.
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  virtual void remove(std::string_view subject, std::uint64_t last) = 0;
};

}  // namespace runnel::fleet
