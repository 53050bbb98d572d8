#include "apps/fleet/events.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "apps/graphs.h"
#include "services/fleet/events/reader.h"
#include "services/fleet/nats/jetstream.h"

namespace runnel::apps {
namespace reading_events {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{20}, kNothing{60};

// The number of the last event that the log's leader has; 0: none.
Result<std::uint64_t> last_event(fleet::JetStream& exchange, const std::string& log) {
  const auto end = Clock::now() + kPatience;
  std::string why = "no answer within 20 s";
  std::uint64_t request = exchange.last(log);
  while (Clock::now() < end && !stop_requested) {
    fleet::Happening what;
    if (!exchange.next(what, 50)) continue;
    auto* const answer = std::get_if<fleet::Answer>(&what);
    if (answer == nullptr || answer->request != request) continue;
    if (answer->outcome == fleet::Answer::Outcome::done)
      return answer->message ? fleet::event_number(answer->message->headers) : 0;
    why = answer->why;
    request = exchange.last(log);
  }
  return Status(Code::io_error) << log << ": " << why;
}

// The last thing that is printed before an end by a signal is a whole line.
void print(const fleet::EventReader::Event& event, const std::string& stream) {
  if (event.missing > 0) {
    const nlohmann::ordered_json line = {{"type", "missing"},
                                         {"source", stream},
                                         {"from", event.number - event.missing},
                                         {"to", event.number - 1}};
    std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  }
  const auto& data = event.message.data;
  std::fwrite(data.data(), 1, data.size(), stdout);
  std::fputc('\n', stdout);
}

}  // namespace
}  // namespace reading_events

Status print_events(const EventsCall& call) {
  using namespace reading_events;
  if (call.stream.empty() || call.stream.find_first_of("*> ") != std::string::npos)
    return Status(Code::invalid_argument)
           << "--stream: expected the name of one stream, found \"" << call.stream << '"';
  RUNNEL_ASSIGN(auto wire, fleet::make_wire());
  fleet::JetStream exchange(std::move(wire));
  fleet::Wire::Settings nats = call.nats;
  nats.name = "runnel fleet events";
  RUNNEL_TRY(exchange.open(nats));
  RUNNEL_TRY(exchange.use({call.subject + ".>", call.log, 0, 0, false}));
  catch_signals();
  const std::string log = call.subject + '.' + call.stream;
  fleet::EventReader reader(exchange, log, static_cast<std::uint64_t>(call.from));
  if (!call.follow) {
    RUNNEL_ASSIGN(const std::uint64_t last, last_event(exchange, log));
    reader.ends_with(last);
    if (last == 0) return {};
  }
  auto came = Clock::now();
  while (!stop_requested && (call.follow || !reader.over())) {
    fleet::Happening what;
    if (exchange.next(what, 20))
      if (auto* const one = std::get_if<fleet::Delivery>(&what); one != nullptr)
        reader.delivered(*one, Clock::now().time_since_epoch());
    reader.work(Clock::now().time_since_epoch());
    bool some = false;
    for (auto event = reader.take(); event; event = reader.take(), some = true) print(*event, call.stream);
    if (some) {
      std::fflush(stdout);
      came = Clock::now();
    }
    if (!call.follow && Clock::now() - came > kNothing)
      return Status(Code::io_error) << log << ": event " << reader.next() << " did not come within a minute";
    if (exchange.closed()) return Status(Code::io_error) << log << ": the server refuses this user now";
  }
  if (!call.follow && !reader.over())
    return Status(Code::io_error) << log << ": ended by a signal before event " << reader.next();
  const std::uint64_t missing = reader.counts().missing;
  if (missing == 0) return {};
  return Status(Code::io_error) << log << ": " << missing << " events are in no copy of the log";
}

}  // namespace runnel::apps
