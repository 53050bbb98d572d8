#include "services/fleet/nats/jetstream_queue.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/fleet/nats/jetstream.h"
#include "services/fleet/nats/options.h"

namespace runnel::fleet {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kConsumer = "workers";
constexpr std::uint64_t kWrongLastSequence = 10071, kNoMessage = 10037, kNoStream = 10059,
                        kStreamExists = 10058;
constexpr milliseconds kAnswer{3000};
constexpr seconds kPull{5};           // a request for items ends after this
constexpr std::size_t kAtOnce = 256;  // entries that are stored without waiting for each

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

// Members that an answer may lack, or have of another type: whoever may publish can write one.
std::uint64_t number_at(const Json& object, const char* key) {
  if (!object.is_object()) return 0;
  const auto at = object.find(key);
  return at == object.end() || !at->is_number_unsigned() ? 0 : at->get<std::uint64_t>();
}

std::string text_at(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// What a server says went wrong; "" if nothing.
std::string error_in(const Json& answer) {
  if (!answer.is_object()) return "an answer that is no JSON object";
  const auto at = answer.find("error");
  if (at == answer.end() || !at->is_object()) return {};
  std::string text = text_at(*at, "description");
  return text.empty() ? "an error without a description" : text;
}
std::uint64_t code_in(const Json& answer) {
  if (!answer.is_object()) return 0;
  const auto at = answer.find("error");
  return at == answer.end() ? 0 : number_at(*at, "err_code");
}

Json json_in(const WireMessage& message) {
  return Json::parse(message.data.begin(), message.data.end(), nullptr, false);
}

std::string text_of(const std::vector<std::byte>& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

Status check_queue_name(std::string_view name) {
  const bool good =
      !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char letter) {
        return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
               (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_';
      });
  if (good) return {};
  return Status(Code::invalid_argument)
         << "queue \"" << name << "\": expected 1 to 64 letters, digits, - and _";
}

}  // namespace

JetStreamQueue::JetStreamQueue(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}

// The wire goes first: its thread uses the rest.
JetStreamQueue::~JetStreamQueue() { wire_ = nullptr; }

std::optional<WireMessage> JetStreamQueue::answer_to(std::string_view reply, Clock::time_point end) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto at = std::find_if(incoming_.begin(), incoming_.end(),
                                 [&](const WireMessage& one) { return one.subject == reply; });
    if (at != incoming_.end()) {
      WireMessage message = std::move(*at);
      incoming_.erase(at);
      return message;
    }
    if (Clock::now() >= end) return std::nullopt;
    came_.wait_until(lock, end);
  }
}

Result<WireMessage> JetStreamQueue::ask(std::string_view subject, const Headers& headers,
                                        std::string_view data) {
  const std::string reply = std::string(wire_->inbox()) + "a.q" + std::to_string(++numbers_);
  RUNNEL_TRY(wire_->publish(subject, reply, headers, data));
  std::optional<WireMessage> message = answer_to(reply, Clock::now() + kAnswer);
  if (!message) return Status(Code::io_error) << subject << ": no answer within 3 s";
  if (message->status == 503)
    return Status(Code::io_error) << subject << ": no server answers: has it JetStream?";
  return *std::move(message);
}

Status JetStreamQueue::make_stream(const std::string& stream, const std::string& config, bool make,
                                   std::string& created) {
  for (int round = 0; round < 2; ++round) {
    RUNNEL_ASSIGN(const WireMessage message, ask("$JS.API.STREAM.INFO." + stream, {}, "{}"));
    const Json info = json_in(message);
    const std::string error = error_in(info);
    if (error.empty()) {
      created = text_at(info, "created");
      return {};
    }
    if (code_in(info) != kNoStream) return Status(Code::io_error) << stream << ": " << error;
    if (!make)
      return Status(Code::not_found) << "the server has no queue of this name (stream " << stream
                                     << "): `runnel batch --enqueue` makes and fills it";
    RUNNEL_ASSIGN(const WireMessage answer, ask("$JS.API.STREAM.CREATE." + stream, {}, config));
    const Json made = json_in(answer);
    // Another process may have made it meanwhile.
    if (const std::string problem = error_in(made); !problem.empty() && code_in(made) != kStreamExists)
      return Status(Code::io_error) << "making the stream " << stream << ": " << problem;
  }
  return Status(Code::io_error) << stream << ": is made, and the server does not have it";
}

Status JetStreamQueue::make_consumer(const Options& options) {
  const std::string name = items_ + '.' + std::string(kConsumer);
  for (int round = 0; round < 2; ++round) {
    RUNNEL_ASSIGN(const WireMessage message, ask("$JS.API.CONSUMER.INFO." + name, {}, {}));
    const Json info = json_in(message);
    if (error_in(info).empty() && info.contains("config") && info["config"].is_object()) {
      const std::uint64_t wait = number_at(info["config"], "ack_wait");
      patience_ = milliseconds(std::max<std::uint64_t>(wait / 1000000, 1));
      return {};
    }
    // The consumer of a queue is made with it. Where it is missing the queue's maker died in between.
    const auto wait = static_cast<std::int64_t>(std::llround(options.patience * 1e9));
    const Json body = {{"stream_name", items_},
                       {"config",
                        {{"durable_name", kConsumer},
                         {"deliver_policy", "all"},
                         {"ack_policy", "explicit"},
                         {"ack_wait", wait},
                         {"max_deliver", -1},
                         {"max_ack_pending", 100000},
                         {"replay_policy", "instant"}}}};
    RUNNEL_ASSIGN(const WireMessage answer, ask("$JS.API.CONSUMER.DURABLE.CREATE." + name, {}, body.dump()));
    const Json made = json_in(answer);
    if (const std::string problem = error_in(made); !problem.empty())
      return Status(Code::io_error) << "making the consumer of stream " << items_ << ": " << problem;
  }
  return Status(Code::io_error) << items_ << ": its consumer is made, and the server does not have it";
}

Status JetStreamQueue::open(const Wire::Settings& settings, const Options& options) {
  RUNNEL_TRY(check_queue_name(options.name));
  Wire::Settings complete = settings;
  RUNNEL_TRY(complete_settings(complete));
  RUNNEL_TRY(wire_->open(complete, [this](std::vector<WireMessage>& messages) {
    const std::lock_guard lock(mutex_);
    std::move(messages.begin(), messages.end(), std::back_inserter(incoming_));
    came_.notify_one();
  }));
  seen_connections_ = wire_->connections();
  items_ = "RUNNEL_QUEUE_" + options.name;
  notes_ = "RUNNEL_NOTES_" + options.name;
  subject_ = "queue." + options.name + '.';
  const auto config = [&](const std::string& stream, const Json& subjects, bool latest) {
    Json out = {{"name", stream},      {"subjects", subjects},
                {"storage", "file"},   {"retention", "limits"},
                {"discard", "new"},    {"num_replicas", std::max(options.replicas, 1)},
                {"deny_delete", true}, {"deny_purge", true}};
    if (latest) out["max_msgs_per_subject"] = 1, out["discard"] = "old";
    return out.dump();
  };
  std::string created, unused;
  RUNNEL_TRY(make_stream(items_, config(items_, {subject_ + "recording.*"}, false), options.make, created));
  RUNNEL_TRY(make_stream(
      notes_, config(notes_, {subject_ + "note.*", subject_ + "apart.*", subject_ + "call.*"}, true), true,
      unused));
  RUNNEL_TRY(make_consumer(options));
  identity_ = options.name + " of " + created;
  return {};
}

void JetStreamQueue::forget_old_pulls() {
  // Requests do not outlive their connection.
  if (wire_->connections() != seen_connections_) pulls_.clear();
  seen_connections_ = wire_->connections();
  const Clock::time_point now = Clock::now();
  std::erase_if(pulls_, [&](const auto& one) { return one.second.left <= 0 || one.second.end < now; });
}

int JetStreamQueue::coming() const {
  int count = 0;
  const Clock::time_point now = Clock::now();
  if (wire_->connections() != seen_connections_) return 0;
  for (const auto& [number, pull] : pulls_)
    if (pull.end >= now) count += pull.left;
  return count;
}

void JetStreamQueue::pull(int count) {
  forget_old_pulls();
  if (count <= 0) return;
  const std::uint64_t number = ++numbers_;
  const Json body = {{"batch", count}, {"expires", std::chrono::nanoseconds(kPull).count()}};
  const std::string reply = std::string(wire_->inbox()) + "a.p." + std::to_string(number);
  if (!wire_
           ->publish("$JS.API.CONSUMER.MSG.NEXT." + items_ + '.' + std::string(kConsumer), reply, {},
                     body.dump())
           .ok())
    return;  // the next call tries again
  pulls_[number] = {count, Clock::now() + kPull + milliseconds(500)};
}

bool JetStreamQueue::read(WireMessage& message, QueueItem& out) {
  constexpr std::string_view kAck = "$JS.ACK.";
  if (message.reply.starts_with(kAck)) {
    // $JS.ACK.<stream>.<consumer>.<times>.<sequence>.<delivered>.<time>.<waiting>, or with domain and account
    // before the stream.
    std::vector<std::string_view> tokens;
    std::string_view rest = message.reply;
    for (;;) {
      const std::size_t dot = rest.find('.');
      tokens.push_back(rest.substr(0, dot));
      if (dot == std::string_view::npos) break;
      rest.remove_prefix(dot + 1);
    }
    const std::size_t shift = tokens.size() >= 11 ? 2 : 0;
    if (tokens.size() < 9 + shift) return false;
    out.deliveries = number_in(tokens[4 + shift]);
    out.sequence = number_in(tokens[5 + shift]);
    if (out.sequence == 0 || out.deliveries == 0) return false;
    out.handle = std::move(message.reply);
    out.data = text_of(message.data);
    // Requests are answered in their order.
    for (auto& [number, pull] : pulls_) {
      if (pull.left <= 0) continue;
      --pull.left;
      break;
    }
    return true;
  }
  std::string_view rest = message.subject;
  if (!rest.starts_with(wire_->inbox())) return false;
  rest.remove_prefix(wire_->inbox().size());
  // The end of a request: it has expired, or cannot be had. 100 is a sign of life.
  if (rest.starts_with("a.k.") && message.status == 0) confirmed_.push_back(number_in(rest.substr(4)));
  if (rest.starts_with("a.p.") && message.status != 100) pulls_.erase(number_in(rest.substr(4)));
  return false;
}

bool JetStreamQueue::next(QueueItem& out, int milliseconds_) {
  const Clock::time_point end = Clock::now() + milliseconds(milliseconds_);
  for (;;) {
    WireMessage message;
    {
      std::unique_lock lock(mutex_);
      came_.wait_until(lock, end, [&] { return !incoming_.empty(); });
      if (incoming_.empty()) return false;
      message = std::move(incoming_.front());
      incoming_.pop_front();
    }
    if (read(message, out)) return true;
  }
}

// What cannot be sent is as lost as what does not arrive.
void JetStreamQueue::answer(const QueueItem& item, std::string_view reply, std::string_view word) {
  if (wire_->connected()) static_cast<void>(wire_->publish(item.handle, reply, {}, word));
}

void JetStreamQueue::acknowledge(const QueueItem& item) {
  answer(item, std::string(wire_->inbox()) + "a.k." + std::to_string(item.sequence), "+ACK");
}

std::vector<std::uint64_t> JetStreamQueue::confirmed() {
  // Confirmations do not wait behind items that nobody takes now.
  const std::string begin = std::string(wire_->inbox()) + "a.k.";
  const std::lock_guard lock(mutex_);
  std::erase_if(incoming_, [&](const WireMessage& message) {
    if (!message.subject.starts_with(begin)) return false;
    if (message.status == 0)
      confirmed_.push_back(number_in(std::string_view(message.subject).substr(begin.size())));
    return true;
  });
  return std::exchange(confirmed_, {});
}

void JetStreamQueue::give_back(const QueueItem& item, double seconds) {
  const Json body = {{"delay", static_cast<std::int64_t>(std::llround(seconds * 1e9))}};
  answer(item, {}, seconds > 0 ? "-NAK " + body.dump() : std::string("-NAK"));
}

Result<QueueState> JetStreamQueue::state() {
  RUNNEL_ASSIGN(const WireMessage first,
                ask("$JS.API.CONSUMER.INFO." + items_ + '.' + std::string(kConsumer), {}, {}));
  const Json consumer = json_in(first);
  if (const std::string error = error_in(consumer); !error.empty())
    return Status(Code::io_error) << items_ << ": " << error;
  RUNNEL_ASSIGN(const WireMessage second, ask("$JS.API.STREAM.INFO." + items_, {}, "{}"));
  const Json stream = json_in(second);
  if (const std::string error = error_in(stream); !error.empty())
    return Status(Code::io_error) << items_ << ": " << error;
  QueueState out;
  out.waiting = number_at(consumer, "num_pending");
  out.under_way = number_at(consumer, "num_ack_pending");
  if (stream.contains("state")) out.total = number_at(stream["state"], "last_seq");
  return out;
}

Result<JetStreamQueue::Known> JetStreamQueue::subjects(const std::string& stream, const std::string& filter) {
  Known known;
  for (std::size_t offset = 0;;) {
    const Json body = {{"subjects_filter", filter}, {"offset", offset}};
    RUNNEL_ASSIGN(const WireMessage message, ask("$JS.API.STREAM.INFO." + stream, {}, body.dump()));
    const Json info = json_in(message);
    if (const std::string error = error_in(info); !error.empty())
      return Status(Code::io_error) << stream << ": " << error;
    if (!info.contains("state") || !info["state"].is_object())
      return Status(Code::io_error) << stream << ": an answer without what was asked";
    const Json& state = info["state"];
    // What is stored during the list is noticed by its condition.
    if (offset == 0) known.last = number_at(state, "last_seq");
    std::size_t found = 0;
    if (state.contains("subjects") && state["subjects"].is_object()) {
      for (const auto& [subject, count] : state["subjects"].items()) {
        known.subjects.insert(subject);
        ++found;
      }
    }
    offset += found;
    if (found == 0 || offset >= number_at(info, "total")) return known;
  }
}

std::size_t JetStreamQueue::publish_after(std::uint64_t last, std::span<const QueueEntry* const> entries,
                                          std::string& why) {
  std::vector<std::string> replies;
  for (const QueueEntry* const entry : entries) {
    const Headers headers = {{"Nats-Expected-Last-Sequence", std::to_string(last + replies.size())},
                             {"Nats-Expected-Last-Subject-Sequence", "0"}};
    std::string reply = std::string(wire_->inbox()) + "a.q" + std::to_string(++numbers_);
    if (const Status sent = wire_->publish(subject_ + "recording." + entry->key, reply, headers, entry->data);
        !sent.ok()) {
      why = sent.text();
      break;
    }
    replies.push_back(std::move(reply));
  }
  std::size_t stored = 0;
  const Clock::time_point end = Clock::now() + kAnswer;
  bool all = true;
  for (const std::string& reply : replies) {
    // After a failure the others are only taken away.
    const std::optional<WireMessage> message = answer_to(reply, all ? end : Clock::now() + milliseconds(200));
    std::string error = message ? "" : "no answer within 3 s";
    if (message && message->status == 503) error = "no server stores this subject";
    if (error.empty()) error = error_in(json_in(*message));
    if (!error.empty() && all) why = error;
    all = all && error.empty();
    if (all) ++stored;
  }
  return stored;
}

Result<std::size_t> JetStreamQueue::add(std::span<const QueueEntry> entries) {
  std::size_t next = 0;
  std::optional<std::size_t> before;  // of these entries, in the queue already
  std::string why;
  // A failure leaves it open what was stored, so the list is read again. So many times without progress:
  for (int in_vain = 0; in_vain < 10;) {
    const auto known = subjects(items_, subject_ + "recording.*");
    if (!known.ok()) {
      why = known.status().text();
      ++in_vain;
      std::unique_lock lock(mutex_);
      came_.wait_for(lock, milliseconds(200), [] { return false; });
      continue;
    }
    if (!before) {
      before = static_cast<std::size_t>(
          std::count_if(entries.begin(), entries.end(), [&](const QueueEntry& entry) {
            return known->subjects.contains(subject_ + "recording." + entry.key);
          }));
    }
    std::uint64_t last = known->last;
    bool good = true;
    while (good && next < entries.size()) {
      std::vector<const QueueEntry*> some;
      std::size_t end = next;
      for (; end < entries.size() && some.size() < (last == 0 ? 1 : kAtOnce); ++end)
        if (!known->subjects.contains(subject_ + "recording." + entries[end].key))
          some.push_back(&entries[end]);
      const std::size_t stored = publish_after(last, some, why);
      last += stored;
      good = stored == some.size();
      if (good) next = end;
      if (stored > 0) in_vain = 0;
    }
    if (good) return entries.size() - *before;
    ++in_vain;
  }
  return Status(Code::io_error) << "queue: not all recordings could be added: " << why
                                << "; the same call goes on there";
}

Result<QueueNote> JetStreamQueue::note(std::string_view name) {
  const Json body = {{"last_by_subj", subject_ + std::string(name)}};
  RUNNEL_ASSIGN(const WireMessage message, ask("$JS.API.STREAM.MSG.GET." + notes_, {}, body.dump()));
  const Json answer = json_in(message);
  if (code_in(answer) == kNoMessage) return QueueNote{};
  if (const std::string error = error_in(answer); !error.empty())
    return Status(Code::io_error) << notes_ << ": " << error;
  if (!answer.contains("message") || !answer["message"].is_object())
    return Status(Code::io_error) << notes_ << ": an answer without what was asked";
  RUNNEL_ASSIGN(const auto data, from_base64(text_at(answer["message"], "data")));
  return QueueNote{number_at(answer["message"], "seq"), text_of(data)};
}

Result<std::uint64_t> JetStreamQueue::set_note(std::string_view name, std::uint64_t after,
                                               std::string_view text) {
  const Headers headers = {{"Nats-Expected-Last-Subject-Sequence", std::to_string(after)}};
  RUNNEL_ASSIGN(const WireMessage message, ask(subject_ + std::string(name), headers, text));
  const Json answer = json_in(message);
  if (code_in(answer) == kWrongLastSequence) return std::uint64_t{0};
  if (const std::string error = error_in(answer); !error.empty())
    return Status(Code::io_error) << notes_ << ": " << error;
  return number_at(answer, "seq");
}

Result<std::vector<std::string>> JetStreamQueue::notes(std::string_view prefix) {
  RUNNEL_ASSIGN(const Known known, subjects(notes_, subject_ + std::string(prefix) + ".*"));
  std::vector<std::string> out;
  for (const std::string& subject : known.subjects) out.push_back(subject.substr(subject_.size()));
  return out;
}

}  // namespace runnel::fleet
