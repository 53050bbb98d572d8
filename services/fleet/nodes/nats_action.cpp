#include "services/fleet/nodes/nats_action.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <system_error>
#include <utility>

namespace runnel::fleet {
namespace {

using pipeline::parameter;
using pipeline::text_parameter;
using std::chrono::steady_clock;

constexpr auto kParameters = joined(
    std::array{
        text_parameter<&NatsAction::subject>(
            "subject", "",
            "where to publish; may contain {label}, {source} and the other fields of an event"),
        text_parameter<&NatsAction::log>("log", "",
                                         "JetStream stream that keeps the records; made where there is none"),
        text_parameter<&NatsAction::subjects>("subjects", "",
                                              "subjects that it keeps, with > for any that follow"),
        parameter<&NatsAction::replicas>(
            "replicas", "", 0, 5, "servers that keep each record, if the log is made; 0: it must be there"),
        text_parameter<&NatsAction::session>(
            "session", "",
            "of what is heard: what one session heard at one frame with one label "
            "is stored once, over restarts too; empty: a new one with each start"),
        parameter<&NatsAction::queue>("queue", "", 1, 10000000,
                                      "records that may wait while no server is there"),
        text_parameter<&NatsAction::full>("full", "drop-oldest|drop-newest",
                                          "what is dropped, and counted, when the queue is full"),
        parameter<&NatsAction::retry>("retry", "s", 0.1, 3600, "time between two attempts to connect"),
        parameter<&NatsAction::linger>("linger", "s", 0, 3600,
                                       "at the end, how long to wait until all is stored"),
        text_parameter<&NatsAction::source>("source", "",
                                            "name in the records; empty: that of the recording or device"),
    },
    nats_parameters<pipeline::Action>());

// A field is one word of a subject; dots of a source's own stay, so that audio.hall.1 stays what it is.
std::string word_of(std::string text, bool keep_dots) {
  std::replace_if(
      text.begin(), text.end(),
      [&](unsigned char letter) {
        return letter <= ' ' || letter == '*' || letter == '>' || letter == 127 ||
               (letter == '.' && !keep_dots);
      },
      '_');
  while (text.starts_with('.')) text.front() = '_';
  while (text.ends_with('.')) text.back() = '_';
  for (std::size_t at = text.find(".."); at != std::string::npos; at = text.find("..")) text[at] = '_';
  return text.empty() ? "_" : text;
}

}  // namespace

const pipeline::NodeType NatsAction::type = {
    .name = "nats",
    .help =
        "Stores events and gaps as JSON in a log of NATS with JetStream, each once; queues them while no "
        "server "
        "is there.",
    .input = {static_cast<pipeline::Kinds>(pipeline::Kind::events), "events"},
    .output = {},
    .parameters = kParameters,
    .make = pipeline::make_node<NatsAction>,
};

NatsAction::~NatsAction() { stop(); }

Status NatsAction::configure() noexcept {
  const auto bad = [](unsigned char letter) { return letter <= ' ' || letter == '*' || letter == '>'; };
  if (subject.empty() || std::any_of(subject.begin(), subject.end(), bad))
    return Status(Code::invalid_argument)
           << "subject=" << subject << ": expected one without spaces, * and >";
  session_ = session;
  if (session_.empty()) {
    std::random_device random;
    session_ = std::to_string(static_cast<std::uint64_t>(random()) << 32 | random());
  }
  return {};
}

Status NatsAction::start() noexcept {
  try {
    // A build without NATS says so now.
    RUNNEL_TRY(make_wire().status());
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    return Status(Code::io_error) << "cannot start a thread: " << error.what();
  }
  return {};
}

void NatsAction::put(const pipeline::Event& event, std::string text, std::string_view kind) {
  pipeline::EventFields fields = records_.fields(event);
  std::string of;
  for (auto& [name, value] : fields) {
    if (name == "source") of = value;
    value = word_of(std::move(value), name == "source");
  }
  auto record = std::make_shared<Record>();
  record->subject = pipeline::filled_in(subject, fields);
  record->id = session_ + ' ' + of + ' ' + std::to_string(event.frame) + ' ' + std::string(kind);
  std::replace_if(
      record->id.begin(), record->id.end(), [](unsigned char letter) { return letter < ' '; }, '_');
  record->text = std::move(text);
  const std::lock_guard lock(mutex_);
  if (static_cast<std::int64_t>(records_to_store_.size()) >= queue) {
    book_.dropped("a record was dropped: " + std::to_string(queue) + " are waiting for " + std::string(url) +
                  " already");
    if (full == "drop-newest") return;
    // One that is under way counts as dropped, too: whether it was stored is not known.
    records_to_store_.pop_front();
  }
  records_to_store_.push_back(std::move(record));
  changed_.notify_all();
}

void NatsAction::act(const pipeline::Event& event) { put(event, records_.event(event), event.label); }

Status NatsAction::gap(const pipeline::Gap& gap) noexcept {
  book_.taken();
  pipeline::Event none;
  none.label = "gap";
  none.begin = gap.start;
  none.end = gap.end;
  none.frame = gap.start;
  put(none, records_.gap(gap), "gap");
  return {};
}

bool NatsAction::connect() {
  if (exchange_ != nullptr && !exchange_->closed()) return true;
  if (steady_clock::now() < not_before_) return false;
  not_before_ = steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(retry * 1000));
  const auto attempt = [&]() -> Status {
    RUNNEL_ASSIGN(auto wire, make_wire());
    auto made = std::make_unique<JetStream>(std::move(wire));
    RUNNEL_TRY(made->open(settings("runnel " + std::string(subject))));
    if (replicas > 0)
      RUNNEL_TRY(made->use({std::string(subjects), std::string(log), static_cast<int>(replicas), 0, false}));
    exchange_ = std::move(made);
    return {};
  };
  {
    const std::lock_guard lock(mutex_);
    requests_.clear();
    for (const auto& record : records_to_store_) record->under_way = false;
  }
  const Status status = attempt();
  if (!status.ok()) {
    book_.say(std::string(status.text()) + "; records wait, and it is tried again");
    return false;
  }
  not_before_ = steady_clock::now();
  return true;
}

void NatsAction::send_some() {
  const std::lock_guard lock(mutex_);
  if (steady_clock::now() < not_before_) return;
  for (std::size_t i = 0; i < records_to_store_.size() && requests_.size() < kUnderWay; ++i) {
    const auto& record = records_to_store_[i];
    if (std::exchange(record->under_way, true)) continue;
    const std::uint64_t request =
        exchange_->append(record->subject, Exchange::kAnyway, {{"Nats-Msg-Id", record->id}}, record->text);
    requests_[request] = record;
  }
}

void NatsAction::happened(const Answer& answer) {
  const auto at = requests_.find(answer.request);
  if (at == requests_.end()) return;
  const std::shared_ptr<Record> record = std::move(at->second);
  requests_.erase(at);
  const std::lock_guard lock(mutex_);
  if (answer.outcome != Answer::Outcome::done) {
    record->under_way = false;
    not_before_ = steady_clock::now() + std::chrono::milliseconds(200);
    book_.say(record->subject + ": a record was not stored: " + answer.why + "; it is sent again");
    return;
  }
  const auto found = std::find(records_to_store_.begin(), records_to_store_.end(), record);
  if (found == records_to_store_.end()) return;  // dropped meanwhile
  records_to_store_.erase(found);
  book_.done();
  if (records_to_store_.empty()) changed_.notify_all();
}

void NatsAction::work() {
  while (!leaving_) {
    if (!connect()) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return leaving_.load(); });
      continue;
    }
    send_some();
    Happening what;
    for (int count = 0; exchange_->next(what, count == 0 ? 10 : 0); ++count)
      if (const auto* const answer = std::get_if<Answer>(&what)) happened(*answer);
  }
  exchange_ = nullptr;
}

void NatsAction::stop() noexcept {
  leaving_ = true;
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status NatsAction::finish() noexcept {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(linger), [&] { return records_to_store_.empty(); });
  }
  stop();
  for (; !records_to_store_.empty(); records_to_store_.pop_front())
    book_.dropped(std::string(url) + ": the time to wait for it (linger) was up");
  return {};
}

}  // namespace runnel::fleet
