#include "services/fleet/graphs/deployment.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

namespace runnel::fleet {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::milliseconds kAgain{200};
constexpr std::string_view kLeaving = "Runnel-Leaving";

std::string text_in(const Message& message) {
  return {reinterpret_cast<const char*>(message.data.data()), message.data.size()};
}

}  // namespace

// Servers that choose a leader fail for a while.
Result<Answer> Deployment::ask(const std::function<std::uint64_t()>& begin) {
  const Clock::time_point end = Clock::now() + kPatience;
  std::string why = "no answer within 10 s";
  while (Clock::now() < end) {
    const std::uint64_t request = begin();
    Happening what;
    while (Clock::now() < end) {
      if (!exchange_.next(what, 50)) continue;
      auto* const answer = std::get_if<Answer>(&what);
      if (answer == nullptr || answer->request != request) continue;
      if (answer->outcome != Answer::Outcome::failed) return std::move(*answer);
      why = answer->why;
      break;
    }
    std::this_thread::sleep_for(kAgain);
  }
  return Status(Code::io_error) << why;
}

// Only where there is nothing yet: what a name stands for does not change.
Status Deployment::put(std::string_view subject, std::string_view data) {
  // Most of the time it is there: a message that servers refuse when they store costs them more than a
  // question.
  RUNNEL_ASSIGN(const Answer found, ask([&] { return exchange_.last(subject); }));
  if (found.message) return {};
  return ask([&] { return exchange_.append(subject, 0, {}, data); }).status();
}

Status Deployment::publish(const TravellingGraph& graph) {
  for (std::size_t i = 0; i < graph.models.size(); ++i) {
    const std::vector<std::byte>& model = graph.models[i];
    for (std::uint64_t part = 0; part < parts_of(graph.record.models[i]); ++part) {
      const std::size_t from = part * GraphRecord::kPart;
      const std::string_view data(reinterpret_cast<const char*>(model.data()) + from,
                                  std::min(GraphRecord::kPart, model.size() - from));
      if (const Status status = put(part_subject(bucket_, graph.record.models[i], part), data); !status.ok())
        return status.at(graph.record.name);
    }
  }
  return put(record_subject(bucket_, graph.record.identity), text_of(graph.record));
}

Result<GraphRecord> Deployment::record(std::uint32_t identity) {
  RUNNEL_ASSIGN(const Answer answer, ask([&] { return exchange_.last(record_subject(bucket_, identity)); }));
  if (!answer.message)
    return Status(Code::not_found) << "graph " << digits_of(identity) << " is not in the bucket";
  return read_graph_record(text_in(*answer.message));
}

Result<Rules> Deployment::rules() {
  RUNNEL_ASSIGN(const Answer answer, ask([&] { return exchange_.last(rules_subject(bucket_)); }));
  return answer.message ? read_rules(text_in(*answer.message)) : Rules();
}

Status Deployment::change(const std::function<Status(Rules&)>& change) {
  for (int tries = 0; tries < 20; ++tries) {
    RUNNEL_ASSIGN(const Answer answer, ask([&] { return exchange_.last(rules_subject(bucket_)); }));
    Rules rules;
    if (answer.message) {
      RUNNEL_ASSIGN(rules, read_rules(text_in(*answer.message)));
    }
    RUNNEL_TRY(change(rules));
    const std::uint64_t after = answer.message ? answer.message->sequence : 0;
    RUNNEL_ASSIGN(const Answer stored,
                  ask([&] { return exchange_.append(rules_subject(bucket_), after, {}, text_of(rules)); }));
    if (stored.outcome == Answer::Outcome::done) return {};
  }
  return Status(Code::io_error, "the rules were changed by others all the time");
}

Result<FleetView> Deployment::look(std::chrono::milliseconds listen) {
  RUNNEL_ASSIGN(const Answer all, ask([&] { return exchange_.list(bucket_ + ".s.>"); }));
  const std::string entries = bucket_ + ".s.", beats = bucket_ + ".w.";
  std::set<std::string, std::less<>> missing(all.subjects.begin(), all.subjects.end());
  FleetView out;
  std::map<std::string, int, std::less<>> heard;  // beats; the first of each may be an old one
  const std::uint64_t feed = exchange_.watch(bucket_ + ".>");
  const Clock::time_point begin = Clock::now();
  while ((!missing.empty() && Clock::now() < begin + kPatience) || Clock::now() < begin + listen) {
    Happening what;
    if (!exchange_.next(what, 50)) continue;
    auto* const delivery = std::get_if<Delivery>(&what);
    if (delivery == nullptr || delivery->feed != feed) continue;
    const Message& message = delivery->message;
    if (message.subject.starts_with(entries)) {
      const auto entry = read_entry(message.headers);
      if (!entry.ok()) return entry.status().at(message.subject);
      out.streams[message.subject.substr(entries.size())] = *entry;
    } else if (message.subject.starts_with(beats)) {
      int& count = heard[message.subject.substr(beats.size())];
      count = find(message.headers, kLeaving) == nullptr ? count + 1 : 0;
    }
    if (const auto at = missing.find(message.subject); at != missing.end()) missing.erase(at);
  }
  exchange_.leave(feed);
  if (!missing.empty()) return Status(Code::io_error) << "no answer within 10 s about " << *missing.begin();
  for (const auto& [name, count] : heard)
    if (count > 1) out.workers.push_back(name);
  return out;
}

Rule rule_now(std::string streams, const GraphRecord& graph) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {std::move(streams),
          graph.identity,
          {},
          graph.name,
          std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

std::string difference(const GraphRecord& before, const GraphRecord& after) {
  if (before.front_end != after.front_end)
    return "it has another front end than " + before.name + " (`runnel inspect` shows both)";
  if (before.labels == after.labels) return {};
  if (before.labels.size() != after.labels.size())
    return "it has " + std::to_string(after.labels.size()) + " labels, " + before.name + " has " +
           std::to_string(before.labels.size());
  for (std::size_t i = 0; i < before.labels.size(); ++i)
    if (before.labels[i] != after.labels[i])
      return "its label " + std::to_string(i) + " is \"" + after.labels[i] + "\", that of " + before.name +
             " is \"" + before.labels[i] + '"';
  return {};
}

}  // namespace runnel::fleet
