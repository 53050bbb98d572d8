#include "services/fleet/nats/jetstream.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "services/fleet/chunk.h"
#include "services/fleet/nats/options.h"

namespace runnel::fleet {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view kCondition = "Nats-Expected-Last-Subject-Sequence";
constexpr std::uint64_t kWrongLastSequence = 10071, kNoMessage = 10037, kNoStream = 10059;
// Where a watch begins anew: servers may number the same messages differently, this many at most. Older ones
// than that come by another look at all of them (look.h).
constexpr std::uint64_t kBack = 1024;
constexpr milliseconds kHeartbeat{2000}, kSilence{5000}, kFirstCheck{3000}, kRarestCheck{60000}, kAgain{1000};

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

// The token of a subject, from 0; "" behind the last one.
std::string_view token(std::string_view subject, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t dot = subject.find('.');
    if (dot == std::string_view::npos) return {};
    subject.remove_prefix(dot + 1);
  }
  return subject.substr(0, subject.find('.'));
}

// What follows the inbox in the subject to which the messages of a feed come.
std::string tokens_of(std::uint64_t feed, std::uint64_t generation) {
  return "f." + std::to_string(feed) + '.' + std::to_string(generation);
}

std::string text_of(const std::vector<std::byte>& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

// Members that an answer may lack, or have of another type: whoever may publish can write one.
std::string text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}
std::uint64_t number_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}
bool flag_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}

// A message as STREAM.MSG.GET gives it; nothing: it cannot be read.
std::optional<Message> message_in(const Json& found) {
  auto headers = from_base64(text_at(found, "hdrs"));
  auto data = from_base64(text_at(found, "data"));
  if (!headers.ok() || !data.ok()) return {};
  return Message{text_at(found, "subject"), number_at(found, "seq"), headers_in(text_of(*headers)),
                 *std::move(data)};
}

// What names a message in its own log: its headers, but for those that servers add or take away. Not 0.
std::uint64_t name_of(const Headers& headers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    hash = (hash ^ 0x100) * 0x100000001b3;
  };
  for (const auto& [name, value] : headers)
    if (!name.starts_with("Nats-")) add(name), add(value);
  return hash | 1;
}

// What a server says went wrong; "" if nothing.
std::string error_in(const Json& answer) {
  const auto at = answer.find("error");
  if (at == answer.end() || !at->is_object()) return {};
  std::string text = text_at(*at, "description");
  return text.empty() ? "an error without a description" : text;
}
std::uint64_t code_in(const Json& answer) {
  const auto at = answer.find("error");
  return at == answer.end() || !at->is_object() ? 0 : number_at(*at, "err_code");
}

}  // namespace

Result<std::vector<std::byte>> from_base64(std::string_view text) {
  std::vector<std::byte> out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char letter : text) {
    std::uint32_t value = 0;
    if (letter >= 'A' && letter <= 'Z')
      value = static_cast<std::uint32_t>(letter - 'A');
    else if (letter >= 'a' && letter <= 'z')
      value = static_cast<std::uint32_t>(letter - 'a' + 26);
    else if (letter >= '0' && letter <= '9')
      value = static_cast<std::uint32_t>(letter - '0' + 52);
    else if (letter == '+' || letter == '/')
      value = letter == '+' ? 62 : 63;
    else
      return Status(Code::invalid_data, "base64 with a letter that it does not have");
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<std::byte>(bits >> count & 0xFF));
  }
  return out;
}

Headers headers_in(std::string_view block) {
  Headers out;
  bool first = true;
  while (!block.empty()) {
    const std::size_t end = std::min(block.find("\r\n"), block.size());
    const std::string_view line = block.substr(0, end);
    block.remove_prefix(std::min(end + 2, block.size()));
    const std::size_t colon = line.find(':');
    if (!std::exchange(first, false) && colon != std::string_view::npos && colon > 0) {
      std::string_view value = line.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      out.emplace_back(line.substr(0, colon), value);
    }
  }
  return out;
}

JetStream::JetStream(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}

// The wire goes first: its thread uses the rest.
JetStream::~JetStream() { wire_ = nullptr; }

Status JetStream::open(const Wire::Settings& settings) {
  Wire::Settings complete = settings;
  RUNNEL_TRY(complete_settings(complete));
  RUNNEL_TRY(wire_->open(complete, [this](std::vector<WireMessage>& messages) {
    const std::lock_guard lock(mutex_);
    std::move(messages.begin(), messages.end(), std::back_inserter(incoming_));
    came_.notify_one();
  }));
  seen_connections_ = wire_->connections();
  // Unique, as the inbox is.
  const std::string_view inbox = wire_->inbox();
  name_ = "runnel_" + std::string(inbox.substr(inbox.find('.') + 1));
  name_.pop_back();
  return {};
}

const LogStream* JetStream::log_of(std::string_view subject) const {
  const auto at = std::find_if(streams_.begin(), streams_.end(),
                               [&](const LogStream& one) { return covers(one.subjects, subject); });
  return at == streams_.end() ? nullptr : &*at;
}

const std::string* JetStream::stream_of(std::string_view subject) const {
  const LogStream* const log = log_of(subject);
  return log == nullptr ? nullptr : &log->stream;
}

void JetStream::know(std::string_view subjects, std::string_view stream) {
  streams_.push_back({std::string(subjects), std::string(stream), true, 1});
}

std::uint64_t JetStream::ask(Kind kind, std::string_view subject, const Headers& headers,
                             std::string_view data, std::string_view filter) {
  const std::uint64_t number = ++numbers_;
  requests_[number] = {kind, Clock::now() + kPatience, std::string(filter), {}};
  const std::string reply = std::string(wire_->inbox()) + "a." + std::to_string(number);
  sent_bytes_ += data.size();
  if (const Status status = wire_->publish(subject, reply, headers, data); !status.ok())
    fail(number, std::string(status.text()));
  return number;
}

void JetStream::fail(std::uint64_t number, std::string why) {
  const auto at = requests_.find(number);
  if (at == requests_.end()) return;
  const Kind kind = at->second.kind;
  requests_.erase(at);
  if (kind == Kind::other || kind == Kind::check || kind == Kind::create) return;  // look_after() tries again
  Answer answer;
  answer.request = number;
  answer.why = std::move(why);
  ready_.emplace_back(std::move(answer));
}

std::uint64_t JetStream::append(std::string_view subject, std::uint64_t after, const Headers& headers,
                                std::string_view data) {
  if (after == kAnyway) return ask(Kind::append, subject, headers, data);
  Headers all = headers;
  const std::string condition = std::to_string(after);
  all.emplace_back(kCondition, condition);
  // Servers compare "none is there" when they store.
  if (after != 0 && find(headers, kMessageId) == nullptr)
    all.emplace_back(kMessageId, std::string(subject) + ' ' + condition);
  const std::uint64_t number = ask(Kind::append, subject, all, data);
  if (const auto at = requests_.find(number); at != requests_.end()) at->second.conditional = true;
  return number;
}

std::uint64_t JetStream::last(std::string_view subject) {
  const LogStream* const log = log_of(subject);
  if (log != nullptr && log->direct)
    return ask(Kind::direct, "$JS.API.DIRECT.GET." + log->stream + '.' + std::string(subject), {}, {});
  const std::string* const stream = stream_of(subject);
  const Json body = {{"last_by_subj", subject}};
  return ask(Kind::last, "$JS.API.STREAM.MSG.GET." + (stream == nullptr ? "none" : *stream), {}, body.dump());
}

std::uint64_t JetStream::first(std::string_view subject, std::uint64_t from) {
  const LogStream* const log = log_of(subject);
  const Json body = {{"seq", std::max<std::uint64_t>(from, 1)}, {"next_by_subj", subject}};
  const std::string stream = log == nullptr ? "none" : log->stream;
  if (log != nullptr && log->direct)
    return ask(Kind::direct, "$JS.API.DIRECT.GET." + stream, {}, body.dump());
  return ask(Kind::last, "$JS.API.STREAM.MSG.GET." + stream, {}, body.dump());
}

std::size_t JetStream::copies(std::string_view subject) const {
  const LogStream* const log = log_of(subject);
  return log == nullptr ? 1 : log->copies;
}

std::uint64_t JetStream::list(std::string_view filter) {
  const std::string* const stream = stream_of(filter);
  const Json body = {{"subjects_filter", filter}, {"offset", 0}};
  return ask(Kind::list, "$JS.API.STREAM.INFO." + (stream == nullptr ? "none" : *stream), {}, body.dump(),
             filter);
}

std::uint64_t JetStream::feed_of(std::string_view filter, std::uint64_t from, bool watch) {
  const std::uint64_t number = ++numbers_;
  Feed& feed = feeds_[number];
  feed.filter = filter;
  if (const std::string* const stream = stream_of(filter); stream != nullptr) feed.stream = *stream;
  feed.next = from;
  feed.watch = watch;
  start(number, feed);
  return number;
}

std::uint64_t JetStream::follow(std::string_view subject, std::uint64_t from) {
  return feed_of(subject, from, false);
}
std::uint64_t JetStream::watch(std::string_view filter) { return feed_of(filter, 0, true); }

// A consumer of the server's that lives as long as somebody listens, and counts what it delivers: what is
// missing is noticed, and another one goes on from there.
void JetStream::start(std::uint64_t number, Feed& feed) {
  wire_->unlisten(tokens_of(number, feed.generation));
  ++feed.generation;
  feed.delivered = 0;
  feed.heard = feed.checked = Clock::now();
  feed.patience = kFirstCheck;
  if (!feed.consumer.empty())
    ask(Kind::other, "$JS.API.CONSUMER.DELETE." + feed.stream + '.' + feed.consumer, {}, {});
  feed.consumer = name_ + '-' + std::to_string(number) + '-' + std::to_string(feed.generation);
  Json config = {{"name", feed.consumer},
                 {"deliver_subject", std::string(wire_->inbox()) + tokens_of(number, feed.generation)},
                 {"ack_policy", "none"},
                 {"replay_policy", "instant"},
                 {"max_deliver", 1},
                 {"flow_control", true},
                 {"idle_heartbeat", std::chrono::nanoseconds(kHeartbeat).count()},
                 {"inactive_threshold", std::chrono::nanoseconds(std::chrono::seconds(30)).count()},
                 {"mem_storage", true},
                 {"num_replicas", 1},
                 {"filter_subject", feed.filter}};
  if (feed.watch) config["headers_only"] = true;
  if (feed.watch && feed.next == 0) {
    config["deliver_policy"] = "last_per_subject";
  } else {
    config["deliver_policy"] = "by_start_sequence";
    const std::uint64_t back = feed.watch ? kBack : 0;
    config["opt_start_seq"] = feed.next > back + 1 ? feed.next - back : 1;
  }
  const Json body = {{"stream_name", feed.stream}, {"config", config}};
  if (!wire_->listen(tokens_of(number, feed.generation)).ok()) return;  // look_after() tries again
  Request& request = requests_[ask(
      Kind::create, "$JS.API.CONSUMER.CREATE." + feed.stream + '.' + feed.consumer + '.' + feed.filter, {},
      body.dump())];
  request.feed = number;
  request.generation = feed.generation;
}

std::string JetStream::describe(std::uint64_t number) const {
  const auto at = feeds_.find(number);
  if (at == feeds_.end()) return {};
  const Feed& feed = at->second;
  const auto ago = [](Clock::time_point then) {
    return std::to_string(std::chrono::duration_cast<milliseconds>(Clock::now() - then).count()) + " ms ago";
  };
  return feed.consumer + ", next " + std::to_string(feed.next) + ", delivered " +
         std::to_string(feed.delivered) + ", heard " + ago(feed.heard) + ", checked " + ago(feed.checked);
}

void JetStream::leave(std::uint64_t number) {
  const auto at = feeds_.find(number);
  if (at == feeds_.end()) return;
  if (!at->second.consumer.empty())
    ask(Kind::other, "$JS.API.CONSUMER.DELETE." + at->second.stream + '.' + at->second.consumer, {}, {});
  wire_->unlisten(tokens_of(number, at->second.generation));
  feeds_.erase(at);
}

void JetStream::remove(std::string_view subject, std::uint64_t last) {
  const std::string* const stream = stream_of(subject);
  Json body = {{"filter", subject}};
  if (last != kAll) body["seq"] = last + 1;  // the first that stays
  if (stream != nullptr) ask(Kind::other, "$JS.API.STREAM.PURGE." + *stream, {}, body.dump());
}

// The message itself, with where it comes from in headers; or a status.
static void read_direct(WireMessage& message, Answer& answer) {
  if (message.status == 404) {
    answer.outcome = Answer::Outcome::done;
    return;
  }
  const std::string *const subject = find(message.headers, "Nats-Subject"), *const sequence =
                                                                                find(message.headers,
                                                                                     "Nats-Sequence");
  if (message.status != 0 || subject == nullptr || sequence == nullptr || number_in(*sequence) == 0) {
    answer.why = message.description.empty() ? "an answer without what was asked" : message.description;
    return;
  }
  answer.outcome = Answer::Outcome::done;
  const std::uint64_t at = number_in(*sequence);
  answer.message = Message{*subject, at, std::move(message.headers), std::move(message.data)};
}

// Requests without an answer, and feeds that are silent or whose connection is another one.
void JetStream::look_after() {
  const Clock::time_point now = Clock::now();
  if (now - looked_ < milliseconds(100)) return;
  looked_ = now;
  std::vector<std::uint64_t> late;
  for (const auto& [number, request] : requests_)
    if (request.deadline < now) late.push_back(number);
  if (!late.empty()) {
    const std::string complaint = wire_->take_complaint();
    const std::string why =
        complaint.empty() ? "no answer within 2 s" : "no answer within 2 s; the server says: " + complaint;
    for (const std::uint64_t number : late) fail(number, why);
  }
  const bool again = wire_->connections() != seen_connections_;
  seen_connections_ = wire_->connections();
  for (auto& [number, feed] : feeds_) {
    if (again || now - feed.heard > kSilence)
      start(number, feed);
    else if (now - feed.checked > feed.patience)
      check(number, feed, now);
  }
}

void JetStream::check(std::uint64_t number, Feed& feed, std::chrono::steady_clock::time_point now) {
  feed.checked = now;
  // There are few watches, and everybody waits for what they have.
  feed.patience = feed.watch ? kFirstCheck : std::min(2 * feed.patience, kRarestCheck);
  const Json body = {{"last_by_subj", feed.filter}};
  Request& request = requests_[ask(Kind::check, "$JS.API.STREAM.MSG.GET." + feed.stream, {}, body.dump())];
  request.feed = number;
  request.generation = feed.generation;
}

// The last message of the log, as its leader has it. Copies may number the same messages differently: another
// message than the last that came is a newer one, whatever its number. Where none came yet, this one does.
void JetStream::checked(std::uint64_t number, Feed& feed, Message last) {
  if (last.sequence >= feed.next) return start(number, feed);
  if (feed.watch || last.sequence == 0 || copies(feed.filter) == 1) return;
  unpack(last);
  if (name_of(last.headers) == feed.newest) return;
  feed.next = last.sequence;
  start(number, feed);
}

void JetStream::compare(const Counts& counts) {
  const Clock::time_point now = Clock::now();
  for (auto& [number, feed] : feeds_) {
    const auto at = counts.find(feed.filter);
    if (feed.watch || at == counts.end()) continue;
    const bool more = at->second > feed.listed;
    feed.listed = at->second;
    // What is on its way comes within that time.
    if (more && now - feed.checked > kAgain)
      feed.patience =
          std::min(feed.patience, std::chrono::duration_cast<milliseconds>(now - feed.checked) + kFirstCheck);
  }
}

bool JetStream::read_delivery(std::uint64_t number, std::uint64_t generation, WireMessage& message,
                              Happening& out) {
  const auto at = feeds_.find(number);
  if (at == feeds_.end() || at->second.generation != generation) return false;
  Feed& feed = at->second;
  feed.heard = Clock::now();
  if (message.status == 100) {
    // Flow control waits for this answer: it is given when all messages before it were read.
    // One that cannot be sent is asked for again.
    if (!message.reply.empty()) static_cast<void>(wire_->publish(message.reply, {}, {}, {}));
    if (const std::string* const stalled = find(message.headers, "Nats-Consumer-Stalled"); stalled != nullptr)
      static_cast<void>(wire_->publish(*stalled, {}, {}, {}));
    const std::string* const last = find(message.headers, "Nats-Last-Consumer");
    if (last != nullptr && number_in(*last) > feed.delivered) start(number, feed);
    return false;
  }
  // $JS.ACK.<stream>.<consumer>.<times>.<sequence>.<delivered>.<time>.<waiting>, or with domain and account
  // before the stream.
  const bool longer = std::count(message.reply.begin(), message.reply.end(), '.') >= 10;
  const std::size_t shift = longer ? 2 : 0;
  const std::uint64_t sequence = number_in(token(message.reply, 5 + shift)),
                      delivered = number_in(token(message.reply, 6 + shift));
  if (sequence == 0 || delivered != feed.delivered + 1) {
    start(number, feed);
    return false;
  }
  feed.delivered = delivered;
  feed.next = sequence + 1;
  feed.checked = feed.heard;
  feed.patience = kFirstCheck;
  Delivery delivery{
      number, {std::move(message.subject), sequence, std::move(message.headers), std::move(message.data)}, 0};
  unpack(delivery.message);
  if (feed.watch)
    delivery.waiting = number_in(token(message.reply, 8 + shift));
  else
    feed.newest = name_of(delivery.message.headers);
  out = std::move(delivery);
  return true;
}

bool JetStream::read_answer(std::uint64_t number, WireMessage& message, Happening& out) {
  const auto at = requests_.find(number);
  if (at == requests_.end()) return false;
  Answer answer;
  answer.request = number;
  if (message.status == 503) {
    const bool untold =
        at->second.kind == Kind::other || at->second.kind == Kind::check || at->second.kind == Kind::create;
    answer.why = at->second.kind == Kind::direct
                     ? "no stream of a server gives its last message of this subject (allow_direct)"
                     : "no server stores this subject";
    requests_.erase(at);
    out = std::move(answer);
    return !untold;
  }
  const Kind kind = at->second.kind;
  if (kind == Kind::direct) {
    requests_.erase(at);
    read_direct(message, answer);
    out = std::move(answer);
    return true;
  }
  const Json body = Json::parse(message.data.begin(), message.data.end(), nullptr, false);
  const std::string error = body.is_object() ? error_in(body) : "an answer that is no JSON object";
  switch (kind) {
    case Kind::append:
      if (body.is_object() && code_in(body) == kWrongLastSequence)
        answer.outcome = Answer::Outcome::outdated;
      else if (error.empty() && at->second.conditional && flag_at(body, "duplicate"))
        answer.outcome = Answer::Outcome::outdated;
      else if (error.empty())
        answer.outcome = Answer::Outcome::done, answer.sequence = number_at(body, "seq");
      break;
    case Kind::last:
      if (body.is_object() && code_in(body) == kNoMessage) {
        answer.outcome = Answer::Outcome::done;
      } else if (error.empty() && body.contains("message") && body["message"].is_object()) {
        answer.message = message_in(body["message"]);
        if (answer.message) answer.outcome = Answer::Outcome::done;
      }
      break;
    case Kind::list: {
      if (!error.empty()) break;
      answer.outcome = Answer::Outcome::done;
      const auto state = body.find("state");
      if (state != body.end() && state->is_object() && state->contains("subjects") &&
          (*state)["subjects"].is_object()) {
        Counts counts;
        for (const auto& [subject, count] : (*state)["subjects"].items()) {
          at->second.subjects.push_back(subject);
          if (count.is_number_unsigned()) counts.emplace(subject, count.get<std::uint64_t>());
        }
        compare(counts);
      }
      answer.subjects = std::move(at->second.subjects);
      const std::uint64_t total = number_at(body, "total");
      if (answer.subjects.size() < total && total < (std::uint64_t{1} << 24) &&
          number_at(body, "offset") < answer.subjects.size()) {
        at->second.subjects = std::move(answer.subjects);
        page(number, at->second.filter, at->second.subjects.size());
        return false;
      }
      break;
    }
    case Kind::check: {
      const auto feed = feeds_.find(at->second.feed);
      const auto found = body.is_object() ? body.find("message") : body.end();
      if (feed == feeds_.end() || feed->second.generation != at->second.generation || found == body.end() ||
          !found->is_object())
        break;
      if (auto last = message_in(*found)) checked(feed->first, feed->second, *std::move(last));
      break;
    }
    case Kind::create: {
      // Servers that choose a leader, for instance: sooner than by its silence.
      const auto feed = feeds_.find(at->second.feed);
      if (!error.empty() && feed != feeds_.end() && feed->second.generation == at->second.generation)
        feed->second.heard = Clock::now() - kSilence + kAgain;
      break;
    }
    case Kind::direct:
    case Kind::other:
      break;
  }
  requests_.erase(at);
  if (kind == Kind::other || kind == Kind::check || kind == Kind::create) return false;
  if (answer.outcome == Answer::Outcome::failed)
    answer.why = error.empty() ? "an answer without what was asked" : error;
  out = std::move(answer);
  return true;
}

// The next page of a list, under the same number.
void JetStream::page(std::uint64_t number, const std::string& filter, std::size_t offset) {
  const std::string* const stream = stream_of(filter);
  const Json body = {{"subjects_filter", filter}, {"offset", offset}};
  requests_[number].deadline = Clock::now() + kPatience;
  if (stream == nullptr ||
      !wire_
           ->publish("$JS.API.STREAM.INFO." + *stream,
                     std::string(wire_->inbox()) + "a." + std::to_string(number), {}, body.dump())
           .ok())
    fail(number, "the list cannot be asked for");
}

bool JetStream::read(WireMessage& message, Happening& out) {
  // A message that is delivered has the subject of its log; the consumer's name is in the subject for
  // answers.
  constexpr std::string_view kAck = "$JS.ACK.";
  if (message.reply.starts_with(kAck)) {
    const bool longer = std::count(message.reply.begin(), message.reply.end(), '.') >= 10;
    const std::string_view consumer = token(message.reply, longer ? 5 : 3);
    const std::size_t dash = consumer.rfind('-'), before = consumer.rfind('-', dash - 1);
    if (dash == std::string_view::npos || before == std::string_view::npos) return false;
    return read_delivery(number_in(consumer.substr(before + 1, dash - before - 1)),
                         number_in(consumer.substr(dash + 1)), message, out);
  }
  std::string_view rest = message.subject;
  if (!rest.starts_with(wire_->inbox())) return false;
  rest.remove_prefix(wire_->inbox().size());
  const std::uint64_t number = number_in(token(rest, 1));
  if (token(rest, 0) == "a") return read_answer(number, message, out);
  if (token(rest, 0) == "f") return read_delivery(number, number_in(token(rest, 2)), message, out);
  return false;
}

bool JetStream::next(Happening& out, int milliseconds_) {
  std::optional<Clock::time_point> end;  // read only where something is waited for
  for (;;) {
    if (arrived_.empty()) look_after();
    if (!ready_.empty()) {
      out = std::move(ready_.front());
      ready_.pop_front();
      return true;
    }
    if (arrived_.empty()) {
      const Clock::time_point now = Clock::now();
      if (!end) end = now + milliseconds(milliseconds_);
      std::unique_lock lock(mutex_);
      if (milliseconds_ > 0)
        came_.wait_until(lock, std::min(*end, now + milliseconds(100)), [&] { return !incoming_.empty(); });
      arrived_.swap(incoming_);
    }
    if (arrived_.empty()) {
      if (milliseconds_ <= 0 || Clock::now() >= *end) return false;
      continue;
    }
    WireMessage message = std::move(arrived_.front());
    arrived_.pop_front();
    if (read(message, out)) return true;
  }
}

Status JetStream::use(const Wanted& wanted) {
  // A simple question with one answer at a time: nothing else is under way yet.
  const auto ask_now = [&](const std::string& subject, const Json& body) -> Result<Json> {
    const std::string reply = std::string(wire_->inbox()) + "a.s" + std::to_string(++numbers_);
    RUNNEL_TRY(wire_->publish(subject, reply, {}, body.dump()));
    std::unique_lock lock(mutex_);
    const Clock::time_point end = Clock::now() + std::chrono::seconds(5);
    for (;;) {
      const auto at = std::find_if(incoming_.begin(), incoming_.end(),
                                   [&](const WireMessage& one) { return one.subject == reply; });
      if (at != incoming_.end()) {
        const WireMessage message = std::move(*at);
        incoming_.erase(at);
        if (message.status == 503)
          return Status(Code::not_found, "the server has no JetStream (nats-server --jetstream)");
        Json answer = Json::parse(message.data.begin(), message.data.end(), nullptr, false);
        if (!answer.is_object()) return Status(Code::invalid_data, "an answer that is no JSON object");
        return answer;
      }
      if (came_.wait_until(lock, end) == std::cv_status::timeout)
        return Status(Code::io_error, "no answer within 5 s");
    }
  };
  RUNNEL_ASSIGN(Json info, ask_now("$JS.API.STREAM.INFO." + wanted.stream, Json::object()));
  if (const std::string error = error_in(info); !error.empty()) {
    if (code_in(info) != kNoStream) return Status(Code::io_error) << wanted.stream << ": " << error;
    if (wanted.replicas == 0)
      return Status(Code::not_found) << "the server has no stream " << wanted.stream << " for "
                                     << wanted.subjects;
    Json config = {{"name", wanted.stream},
                   {"subjects", {wanted.subjects}},
                   {"storage", "file"},
                   {"retention", "limits"},
                   {"num_replicas", wanted.replicas},
                   {"max_age", static_cast<std::int64_t>(wanted.days * 86400e9)},
                   {"allow_direct", true},
                   {"duplicate_window", std::chrono::nanoseconds(std::chrono::minutes(2)).count()}};
    if (wanted.latest) {
      config["max_msgs_per_subject"] = 1;
      config["discard"] = "new";
      config["allow_rollup_hdrs"] = true;
      config["deny_delete"] = true;
      config["max_age"] = 0;
    }
    RUNNEL_ASSIGN(info, ask_now("$JS.API.STREAM.CREATE." + wanted.stream, config));
    if (const std::string problem = error_in(info); !problem.empty())
      return Status(Code::io_error) << "making the stream " << wanted.stream << ": " << problem;
  }
  const auto config = info.find("config");
  const std::size_t copies =
      config == info.end() || !config->is_object() ? 1 : config->value("num_replicas", std::size_t{1});
  streams_.push_back({wanted.subjects, wanted.stream, false, copies});
  return {};
}

}  // namespace runnel::fleet
