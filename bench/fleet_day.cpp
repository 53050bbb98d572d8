#include "bench/fleet_day.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/host/sealed_state.h"
#include "services/fleet/chunk.h"
#include "services/fleet/entry.h"
#include "services/fleet/exchange.h"
#include "services/fleet/runner.h"
#include "services/fleet/work/worker.h"

namespace runnel::bench {
namespace {

using namespace fleet;

using Tick = std::int64_t;  // ms
constexpr Tick kTurn = 10;  // between two turns of a worker, as those of `runnel work`
constexpr std::string_view kStreams = "audio.site.", kBucket = "$KV.runnel.", kEvents = "events.";
constexpr std::size_t kMostWrong = 10;

std::string name_of(std::size_t stream) {
  std::string digits = std::to_string(stream);
  return std::string(kStreams) + std::string(7 - std::min<std::size_t>(7, digits.size()), '0') + digits;
}
std::size_t number_of(std::string_view name) {
  std::size_t out = 0;
  name.remove_prefix(kStreams.size());
  std::from_chars(name.data(), name.data() + name.size(), out);
  return out;
}

// About every fiftieth chunk of a stream is an event.
bool speaks(std::size_t stream, std::int64_t sample) {
  std::uint64_t hash = stream * 0x9E3779B97F4A7C15 + static_cast<std::uint64_t>(sample);
  hash = (hash ^ hash >> 31) * 0xD6E8FEB86659FD93;
  return (hash >> 32) % 50 == 0;
}

class Simulation;

// An engine whose events are known beforehand.
class DayRun final : public Run {
 public:
  DayRun(Simulation& day, std::size_t stream, std::int64_t first)
      : day_(day), stream_(stream), next_(first) {}
  void hear(std::span<const std::byte> samples);
  void lose(std::int64_t samples) override;
  Status end() override { return {}; }
  Result<std::vector<std::byte>> save() override {
    const auto state = [&](StateArchive& archive) { archive.index(next_); };
    std::vector<std::byte> out(sealed_bytes(state));
    RUNNEL_TRY(save_sealed(out, kSeal, state));
    return out;
  }
  Status restore(std::span<const std::byte> from) override {
    bool changed = false;
    return restore_sealed(
        from, kSeal, [&](StateArchive& archive) { archive.index(next_); }, changed);
  }
  std::string take() override { return std::exchange(lines_, {}); }

 private:
  static constexpr Seal kSeal{"RNLADAY1", 1};
  Simulation& day_;
  std::size_t stream_;
  std::int64_t next_;
  std::string lines_;
};

class DayRunner final : public Runner {
 public:
  explicit DayRunner(Simulation& day) : day_(day) {}
  [[nodiscard]] std::uint32_t identity() const noexcept override { return 1; }
  Result<std::unique_ptr<Run>> start(std::string_view name, const serve::SampleFormat&,
                                     std::int64_t first) override {
    return std::unique_ptr<Run>(std::make_unique<DayRun>(day_, number_of(name), first));
  }
  void hear(std::span<Turn> turns) override {
    for (Turn& turn : turns) static_cast<DayRun*>(turn.run)->hear(turn.samples);
  }

 private:
  Simulation& day_;
};

// The connection of one worker. What it asks arrives a while later, and so does what it hears.
class DayExchange final : public Exchange {
 public:
  explicit DayExchange(Simulation& day) : day_(day) {}
  ~DayExchange() override;
  std::uint64_t append(std::string_view subject, std::uint64_t after, const Headers& headers,
                       std::string_view data) override {
    return send({Request::Kind::append, 0, after, 0, std::string(subject), std::string(data), headers});
  }
  std::uint64_t last(std::string_view subject) override {
    return send({Request::Kind::last, 0, 0, 0, std::string(subject), {}, {}});
  }
  std::uint64_t first(std::string_view subject, std::uint64_t from) override {
    return send({Request::Kind::first, 0, from, 0, std::string(subject), {}, {}});
  }
  [[nodiscard]] std::size_t copies(std::string_view) const override { return 1; }
  std::uint64_t list(std::string_view filter) override {
    return send({Request::Kind::list, 0, 0, 0, std::string(filter), {}, {}});
  }
  std::uint64_t follow(std::string_view subject, std::uint64_t from) override;
  std::uint64_t watch(std::string_view filter) override;
  void leave(std::uint64_t feed) override;
  void remove(std::string_view subject, std::uint64_t last) override {
    send({Request::Kind::remove, 0, last, 0, std::string(subject), {}, {}});
  }

 private:
  friend class Simulation;
  struct Request {
    enum class Kind : std::uint8_t { append, last, first, list, remove } kind = Kind::append;
    std::uint64_t number = 0, after = 0;
    Tick due = 0;
    std::string subject, data;
    Headers headers;
  };
  struct Coming {
    Tick due = 0;
    Happening what;
  };
  std::uint64_t send(Request request);
  void come(Happening what);
  void arrive(Request& request);

  Simulation& day_;
  std::uint64_t numbers_ = 0;
  std::deque<Request> requests_;
  std::deque<Coming> coming_;
  std::vector<std::pair<std::string, std::uint64_t>> watches_;  // beginning of subjects, and feed
  std::unordered_map<std::uint64_t, std::size_t> follows_;      // streams by feed
};

class Simulation {
 public:
  explicit Simulation(const FleetDay& day) : day_(day), random_(day.seed), inputs_(day.streams) {
    period_ = std::max<Tick>(1, static_cast<Tick>(1000 * day.chunk));
    phases_.resize(static_cast<std::size_t>(period_));
    for (std::size_t i = 0; i < day.streams; ++i) phases_[random_() % phases_.size()].push_back(i);
  }
  FleetDayResult run();

 private:
  friend class DayExchange;
  friend class DayRun;
  struct Input {
    std::uint64_t chunks = 0;       // sent so far; the sequence of the last one
    std::int64_t heard = 0;         // by anybody
    DayExchange* reader = nullptr;  // the newest one
    std::uint64_t feed = 0;
    Tick alone = -1;    // since when nobody has it; -1: somebody has
    bool died = false;  // its last owner
    std::uint64_t events = 0;
  };
  struct Member {
    std::string id;
    std::unique_ptr<DayExchange> exchange;
    std::unique_ptr<DayRunner> runner;
    std::unique_ptr<Worker> worker;
    Tick next = 0;
  };
  void start();
  void kill();
  void tick();
  void send_chunks();
  void run_quietly(Tick ticks);
  // Until every stream has an owner and all have their share; false: not in a minute.
  bool settle();
  void wrong(std::string what) {
    if (result_.wrong.size() < kMostWrong) result_.wrong.push_back(std::move(what));
  }
  void check();
  Message chunk_of(std::size_t stream, std::uint64_t sequence) const;
  std::optional<Message> last_of(const std::string& subject);
  std::uint64_t put(DayExchange::Request& request);

  FleetDay day_;
  std::mt19937_64 random_;
  Tick now_ = 0, period_ = 1000;
  std::vector<Input> inputs_;
  std::vector<std::vector<std::size_t>> phases_;   // streams by the time of their chunks in a period
  std::unordered_map<std::string, Message> logs_;  // the last message of each subject
  std::uint64_t sequence_ = 0;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<DayExchange*> clients_;
  std::size_t started_ = 0;
  FleetDayResult result_;
};

void DayRun::hear(std::span<const std::byte> samples) {
  for (std::size_t i = 0; i < samples.size() / 4; ++i, ++next_) {
    ++day_.result_.heard;
    std::int64_t& heard = day_.inputs_[stream_].heard;
    if (next_ < heard) ++day_.result_.repeated;
    heard = std::max(heard, next_ + 1);
    if (speaks(stream_, next_)) lines_ += std::to_string(next_) + '\n';
  }
}

void DayRun::lose(std::int64_t samples) {
  day_.wrong(name_of(stream_) + " has a gap of " + std::to_string(samples));
  next_ += samples;
}

DayExchange::~DayExchange() {
  for (const auto& [feed, stream] : follows_) {
    Simulation::Input& input = day_.inputs_[stream];
    if (input.reader != this || input.feed != feed) continue;
    input.reader = nullptr;
    input.alone = day_.now_;
    input.died = true;
    ++day_.result_.lost_streams;
  }
}

std::uint64_t DayExchange::send(Request request) {
  request.number = ++numbers_;
  request.due = day_.now_ + day_.day_.travels;
  requests_.push_back(std::move(request));
  return numbers_;
}

void DayExchange::come(Happening what) {
  ++day_.result_.deliveries;
  coming_.push_back({day_.now_ + day_.day_.travels, std::move(what)});
}

std::uint64_t DayExchange::follow(std::string_view subject, std::uint64_t from) {
  const std::uint64_t feed = ++numbers_;
  const std::size_t stream = number_of(subject);
  follows_[feed] = stream;
  Simulation::Input& input = day_.inputs_[stream];
  if (input.alone >= 0) {
    const double seconds = 1e-3 * static_cast<double>(day_.now_ - input.alone);
    (input.died ? day_.result_.without_owner : day_.result_.between_owners).push_back(seconds);
    if (!input.died) ++day_.result_.moved_streams;
  }
  input.alone = -1;
  input.died = false;
  input.reader = this;
  input.feed = feed;
  for (std::uint64_t at = std::max<std::uint64_t>(1, from); at <= input.chunks; ++at)
    come(Delivery{feed, day_.chunk_of(stream, at), 0});
  return feed;
}

std::uint64_t DayExchange::watch(std::string_view filter) {
  const std::uint64_t feed = ++numbers_;
  const std::string beginning(filter.ends_with('>') ? filter.substr(0, filter.size() - 1) : filter);
  watches_.emplace_back(beginning, feed);
  std::vector<const Message*> kept;
  for (const auto& [subject, message] : day_.logs_)
    if (subject.starts_with(beginning)) kept.push_back(&message);
  std::sort(kept.begin(), kept.end(),
            [](const Message* a, const Message* b) { return a->sequence < b->sequence; });
  std::uint64_t waiting = kept.size();
  for (const Message* const message : kept)
    come(Delivery{feed, {message->subject, message->sequence, message->headers, {}}, --waiting});
  return feed;
}

void DayExchange::leave(std::uint64_t feed) {
  std::erase_if(watches_, [&](const auto& one) { return one.second == feed; });
  const auto at = follows_.find(feed);
  if (at == follows_.end()) return;
  Simulation::Input& input = day_.inputs_[at->second];
  if (input.reader == this && input.feed == feed) {
    input.reader = nullptr;
    input.alone = day_.now_;
    input.died = false;
  }
  follows_.erase(at);
}

void DayExchange::arrive(Request& request) {
  Answer answer;
  answer.request = request.number;
  answer.outcome = Answer::Outcome::done;
  switch (request.kind) {
    case Request::Kind::append:
      answer.sequence = day_.put(request);
      if (answer.sequence == 0) answer.outcome = Answer::Outcome::outdated;
      break;
    case Request::Kind::last:
      answer.message = day_.last_of(request.subject);
      break;
    case Request::Kind::first: {
      const std::size_t stream = number_of(request.subject);
      if (request.after <= day_.inputs_[stream].chunks)
        answer.message = day_.chunk_of(stream, std::max<std::uint64_t>(1, request.after));
      break;
    }
    case Request::Kind::list:
      for (std::size_t i = 0; i < day_.inputs_.size(); ++i)
        if (day_.inputs_[i].chunks > 0) answer.subjects.push_back(name_of(i));
      break;
    case Request::Kind::remove:
      if (const auto at = day_.logs_.find(request.subject);
          at != day_.logs_.end() && at->second.sequence <= request.after)
        day_.logs_.erase(at);
      return;
  }
  come(std::move(answer));
}

Message Simulation::chunk_of(std::size_t stream, std::uint64_t sequence) const {
  Chunk chunk;
  chunk.format = {pipeline::SampleCode::float32, 25, 1};
  chunk.first = static_cast<std::int64_t>(sequence) - 1;
  chunk.run = 1;
  return {name_of(stream), sequence, headers_of(chunk), std::vector<std::byte>(4)};
}

std::optional<Message> Simulation::last_of(const std::string& subject) {
  if (subject.starts_with(kStreams)) {
    const Input& input = inputs_[number_of(subject)];
    if (input.chunks == 0) return {};
    return chunk_of(number_of(subject), input.chunks);
  }
  const auto at = logs_.find(subject);
  if (at == logs_.end()) return {};
  return at->second;
}

std::uint64_t Simulation::put(DayExchange::Request& request) {
  const auto [at, fresh] = logs_.try_emplace(request.subject);
  Message& last = at->second;
  if (request.after != Exchange::kAnyway && request.after != last.sequence) {
    if (fresh) logs_.erase(at);
    return 0;
  }
  ++result_.appends;
  std::string_view subject = request.subject;
  if (subject.starts_with(kEvents)) {
    // Event n is that of the n-th sample that speaks: checked where it is stored, because only the last
    // stays.
    subject.remove_prefix(kEvents.size());
    Input& input = inputs_[number_of(subject)];
    ++input.events;
    ++result_.events;
    std::int64_t sample = -1, before = -1;
    std::from_chars(request.data.data(), request.data.data() + request.data.size(), sample);
    const std::string_view text(reinterpret_cast<const char*>(last.data.data()), last.data.size());
    std::from_chars(text.data(), text.data() + text.size(), before);
    std::int64_t expected = before + 1;
    while (!speaks(number_of(subject), expected)) ++expected;
    if (sample != expected)
      wrong(std::string(subject) + " has the event " + request.data + " where " + std::to_string(expected) +
            " was expected");
  }
  const auto bytes = std::as_bytes(std::span(request.data));
  last = {request.subject, ++sequence_, std::move(request.headers), {bytes.begin(), bytes.end()}};
  if (!subject.starts_with(kBucket)) return sequence_;
  const char kind = subject[kBucket.size()];
  ++(kind == 's' ? result_.saves : kind == 'o' ? result_.notes : result_.beats);
  if (kind == 's') return sequence_;  // who looks at them has seen enough by then
  for (DayExchange* const client : clients_)
    for (const auto& [beginning, feed] : client->watches_)
      if (subject.starts_with(beginning))
        client->come(Delivery{feed, {last.subject, last.sequence, last.headers, {}}, 0});
  return sequence_;
}

void Simulation::start() {
  auto member = std::make_unique<Member>();
  // Names as machines have them: in no order of their start.
  member->id = "w" + std::to_string(random_() % 900000 + 100000) + '-' + std::to_string(++started_);
  member->exchange = std::make_unique<DayExchange>(*this);
  clients_.push_back(member->exchange.get());
  member->runner = std::make_unique<DayRunner>(*this);
  WorkerOptions options;
  options.id = member->id;
  options.save = std::chrono::milliseconds(static_cast<Tick>(1000 * day_.save));
  options.most_streams = 65536;
  if (day_.claims > 0) options.most_claims = day_.claims;
  member->worker = std::make_unique<Worker>(*member->exchange, *member->runner, options);
  member->next = now_ + static_cast<Tick>(random_() % kTurn);
  members_.push_back(std::move(member));
}

void Simulation::kill() {
  const auto at = members_.begin() + static_cast<std::ptrdiff_t>(random_() % members_.size());
  std::erase(clients_, (*at)->exchange.get());
  members_.erase(at);
}

void Simulation::send_chunks() {
  for (const std::size_t stream : phases_[static_cast<std::size_t>(now_ % period_)]) {
    Input& input = inputs_[stream];
    ++input.chunks;
    if (input.reader != nullptr) input.reader->come(Delivery{input.feed, chunk_of(stream, input.chunks), 0});
  }
}

void Simulation::tick() {
  ++now_;
  send_chunks();
  for (DayExchange* const client : clients_) {
    for (std::deque<DayExchange::Request>& requests = client->requests_;
         !requests.empty() && requests.front().due <= now_;) {
      DayExchange::Request request = std::move(requests.front());
      requests.pop_front();
      client->arrive(request);
    }
  }
  for (const auto& member : members_) {
    if (now_ < member->next) continue;
    member->next = now_ + kTurn;
    for (auto& coming = member->exchange->coming_; !coming.empty() && coming.front().due <= now_;) {
      Happening what = std::move(coming.front().what);
      coming.pop_front();
      member->worker->happened(std::move(what));
    }
    while (member->worker->work(std::chrono::milliseconds(now_))) {
    }
    for (std::string& line : member->worker->take_news()) wrong(member->id + ": " + line);
  }
}

void Simulation::run_quietly(Tick ticks) {
  for (Tick i = 0; i < ticks; ++i) tick();
}

bool Simulation::settle() {
  const Tick begin = now_;
  while (now_ < begin + 60000) {
    run_quietly(50);
    if (std::any_of(inputs_.begin(), inputs_.end(), [](const Input& one) { return one.reader == nullptr; }))
      continue;
    std::size_t least = inputs_.size(), most = 0;
    for (const auto& member : members_) {
      const std::size_t its = member->exchange->follows_.size();
      least = std::min(least, its);
      most = std::max(most, its);
    }
    if (most > least + 1) continue;
    result_.uneven.push_back(1e-3 * static_cast<double>(now_ - begin));
    result_.least = result_.most == 0 ? least : std::min(result_.least, least);
    result_.most = std::max(result_.most, most);
    return true;
  }
  wrong("after a minute there are streams without an owner, or workers without their share");
  return false;
}

// Everything that was sent is heard, each event is there once.
void Simulation::check() {
  std::uint64_t events = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    for (std::int64_t sample = 0; sample < static_cast<std::int64_t>(inputs_[i].chunks); ++sample)
      if (speaks(i, sample)) ++events;
    if (inputs_[i].heard != static_cast<std::int64_t>(inputs_[i].chunks))
      wrong(name_of(i) + ": " + std::to_string(inputs_[i].heard) + " of " +
            std::to_string(inputs_[i].chunks) + " chunks were heard");
  }
  if (events != result_.events)
    wrong("there are " + std::to_string(result_.events) + " events, expected " + std::to_string(events));
  for (const auto& [subject, message] : logs_)
    if (subject.starts_with(std::string(kBucket) + "w.")) ++result_.kept_beats;
}

FleetDayResult Simulation::run() {
  // In the middle of a day: chunks were sent before the first worker starts.
  run_quietly(period_);
  for (std::size_t i = 0; i < day_.workers; ++i) start();
  settle();
  result_.uneven.clear();
  // Deaths and starts of the whole day, in ms.
  const double day = 3600e3 * day_.hours;
  std::vector<std::pair<double, bool>> happens;  // when; whether it is a death
  std::uniform_real_distribution<double> place(0, 1);
  std::poisson_distribution<int> deaths(static_cast<double>(day_.workers) * day_.hours * day_.deaths_an_hour);
  for (int i = deaths(random_); i > 0; --i) {
    const double when = day * place(random_);
    happens.emplace_back(when, true);
    happens.emplace_back(when + 1e3 * day_.replaced_after, false);
  }
  std::sort(happens.begin(), happens.end());
  double clock = 0;
  for (const auto& [when, death] : happens) {
    // What is left out of a longer time is a whole number of periods and saves away from nothing: any part of
    // a second follows it.
    const double quiet = std::min(when - clock, 1e3 * day_.quiet) + static_cast<double>(random_() % 1000);
    run_quietly(static_cast<Tick>(std::max(0.0, quiet)));
    const Tick begin = now_;
    if (death) {
      kill();
      ++result_.deaths;
    } else {
      start();
      ++result_.replaced;
    }
    if (!settle()) break;
    clock = when + static_cast<double>(now_ - begin);
  }
  // What was sent last is heard.
  for (auto& streams : phases_) streams.clear();
  run_quietly(2000);
  check();
  result_.computed = 1e-3 * static_cast<double>(now_);
  return std::move(result_);
}

}  // namespace

FleetDayResult run(const FleetDay& day) { return Simulation(day).run(); }

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

}  // namespace runnel::bench
