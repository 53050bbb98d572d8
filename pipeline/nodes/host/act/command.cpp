#include "pipeline/nodes/host/act/command.h"

#include <poll.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <system_error>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Command::run>("run", "",
                                  "program and arguments; {label}, {score}, {start}, {end}, {frame}, "
                                  "{source} and {json} are replaced by the fields of the event",
                                  true),
    parameter<&Command::concurrency>("concurrency", "", 1, 1000, "programs that run at once"),
    parameter<&Command::queue>("queue", "", 0, 1000000,
                               "events that may wait; further ones are dropped and counted"),
    parameter<&Command::timeout>("timeout", "s", 0.01, 1e6,
                                 "a program that takes longer is ended and counts as failed"),
    text_parameter<&Command::source>("source", "",
                                     "name in the records; empty: that of the recording or device"),
};

constexpr std::chrono::seconds kGrace{1};
constexpr int kForEver = -1;

}  // namespace

const NodeType Command::type = {
    .name = "command",
    .help =
        "Runs a program for each event, without a shell; it gets the record as JSON on its standard input "
        "and the fields as RUNNEL_LABEL and so on.",
    .input = {static_cast<Kinds>(Kind::events), "events"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Command>,
};

Command::~Command() {
  leaving_ = true;
  wake_.up();
  if (thread_.joinable()) thread_.join();
}

Status Command::configure() noexcept {
  RUNNEL_ASSIGN(words_, words_of(run));
  if (words_.empty()) return Status(Code::invalid_argument) << "run=" << run << ": expected a program";
  return {};
}

Status Command::start() noexcept {
  if (wake_.descriptor() < 0) return Status(Code::io_error) << "the system gives no event descriptor";
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    return Status(Code::io_error) << "cannot start a thread: " << error.what();
  }
  return {};
}

ChildCall Command::call_for(const EventFields& fields) const {
  ChildCall call;
  for (const std::string& word : words_) call.arguments.push_back(filled_in(word, fields));
  for (const auto& [name, value] : fields) {
    std::string variable = "RUNNEL_";
    for (const char letter : name)
      variable += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    call.environment.push_back(variable + "=" + value);
  }
  call.input = fields.back().second + "\n";
  return call;
}

void Command::act(const Event& event) {
  {
    const std::lock_guard lock(mutex_);
    // Events that can start immediately do not count as queued.
    if (static_cast<std::int64_t>(waiting_.size()) < queue + concurrency - busy_) {
      waiting_.push_back(call_for(records_.fields(event)));
      wake_.up();
      return;
    }
  }
  book_.dropped("an event was dropped: " + std::to_string(queue) + " are waiting for " + words_[0] +
                " already");
}

void Command::start_waiting() {
  while (static_cast<std::int64_t>(running_.size()) < concurrency) {
    ChildCall call;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return;
      call = std::move(waiting_.front());
      waiting_.pop_front();
      ++busy_;
    }
    Result<ChildProcess> process = ChildProcess::run(call);
    if (!process.ok()) {
      book_.failed(process.status().text());
      leave_place();
      continue;
    }
    Running& running = running_.emplace_back();
    running.process = std::move(process).value();
    running.deadline = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(timeout));
  }
}

void Command::leave_place() {
  const std::lock_guard lock(mutex_);
  --busy_;
}

void Command::reap(Running& running) {
  leave_place();
  const Status outcome = running.process.outcome();
  if (running.told)
    book_.failed(words_[0] + " took longer than its timeout and was ended");
  else if (!outcome.ok())
    book_.failed(words_[0] + " " + std::string(outcome.text()));
  else
    book_.done();
}

void Command::end_late() {
  const Time now = std::chrono::steady_clock::now();
  for (Running& running : running_) {
    if (now < running.deadline) continue;
    running.process.signal(running.told ? SIGKILL : SIGTERM);
    running.told = true;
    running.deadline = now + kGrace;
  }
}

int Command::milliseconds_to_wait() const {
  if (running_.empty()) return kForEver;
  const auto first =
      std::min_element(running_.begin(), running_.end(),
                       [](const Running& a, const Running& b) { return a.deadline < b.deadline; });
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(first->deadline - std::chrono::steady_clock::now())
          .count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000000));
}

void Command::work() {
  std::vector<pollfd> polled;
  while (!leaving_) {
    start_waiting();
    if (finishing_ && running_.empty()) return;
    polled.assign(1, {wake_.descriptor(), POLLIN, 0});
    for (const Running& running : running_) polled.push_back({running.process.descriptor(), POLLIN, 0});
    poll(polled.data(), polled.size(), milliseconds_to_wait());
    if (polled[0].revents != 0) wake_.clear();
    // Backwards, so that erasing keeps the earlier indices valid.
    for (std::size_t i = running_.size(); i-- > 0;) {
      if (polled[i + 1].revents == 0) continue;
      reap(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    end_late();
  }
}

Status Command::finish() noexcept {
  finishing_ = true;
  wake_.up();
  if (thread_.joinable()) thread_.join();
  return {};
}

}  // namespace runnel::pipeline
