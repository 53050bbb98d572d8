// Workers as processes over a real server, and what is sent to them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "services/fleet/chunk.h"
#include "services/fleet/entry.h"
#include "services/fleet/events/reader.h"
#include "services/fleet/nats/jetstream.h"
#include "tests/apps/fleet/background.h"
#include "tests/apps/support.h"
#include "tests/services/fleet/nats/nats_server.h"

namespace runnel::apps::test {

using fleet::Answer;
using fleet::Happening;

// Streams of recordings, sent over the server, and what comes of them.
class WorkTest : public testing::Test {
 protected:
  static constexpr int kRate = 16000;

  void SetUp() override {
    std::string why;
    server_ = fleet::test::NatsServer::start(why);
    if (server_ == nullptr) GTEST_SKIP() << "SKIPPED: " << why;
    auto wire = fleet::make_wire();
    ASSERT_TRUE(wire.ok()) << wire.status().text();
    exchange_ = std::make_unique<fleet::JetStream>(*std::move(wire));
    fleet::Wire::Settings settings;
    settings.urls = server_->url();
    settings.name = "sender";
    ASSERT_TRUE(exchange_->open(settings).ok());
    use_logs(1);
  }
  // Makes the logs of a fleet.
  void use_logs(int replicas) {
    for (const auto& wanted : {fleet::JetStream::Wanted{"audio.>", "RUNNEL_INPUT", replicas, 1, false},
                               fleet::JetStream::Wanted{"events.>", "RUNNEL_EVENTS", replicas, 0, false},
                               fleet::JetStream::Wanted{"$KV.runnel.>", "KV_runnel", replicas, 0, true}})
      use(*exchange_, wanted);
  }
  // Servers of a cluster take a while until they answer.
  static void use(fleet::JetStream& exchange, const fleet::JetStream::Wanted& wanted) {
    Status status;
    for (int tries = 0; tries < 60; ++tries) {
      status = exchange.use(wanted);
      if (status.ok()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    ASSERT_TRUE(status.ok()) << status.text();
  }
  std::unique_ptr<Background> worker() {
    return std::make_unique<Background>(
        std::vector<std::string>{"work", model(), "--nats", url(), "--decision", kEager, "--save", "0.5"},
        folder_.path() / ("worker" + std::to_string(++workers_)));
  }
  // Once it says that it works; "" if it does not within a minute.
  std::string id_of_worker(int number) {
    for (int tries = 0; tries < 600; ++tries) {
      std::ifstream log(folder_.path() / ("worker" + std::to_string(number)));
      for (std::string line; std::getline(log, line);) {
        const Json said = Json::parse(line, nullptr, false);
        if (said.is_object() && said.contains("worker")) return said["worker"].get<std::string>();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << "worker " << number << " does not work";
    return {};
  }
  // How many graphs a worker can run, as it says on SIGUSR1; 0: it has not said so within a minute.
  std::size_t graphs_of(const Background& worker, int number) {
    const auto lines = [&] {
      std::vector<std::size_t> out;
      std::ifstream log(folder_.path() / ("worker" + std::to_string(number)));
      for (std::string line; std::getline(log, line);) {
        const std::size_t begin = line.find('{');
        if (begin == std::string::npos) continue;
        const Json said = Json::parse(line.substr(begin), nullptr, false);
        if (said.is_object() && said.contains("graphs_here")) out.push_back(said["graphs_here"]);
      }
      return out;
    };
    const std::size_t before = lines().size();
    worker.signal(SIGUSR1);
    for (int tries = 0; tries < 600; ++tries) {
      const std::vector<std::size_t> said = lines();
      if (said.size() > before) return said.back();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return 0;
  }
  [[nodiscard]] virtual std::string url() const { return server_->url(); }
  // Until the answer to a request comes.
  Answer answer(std::uint64_t request) {
    Happening what;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (!exchange_->next(what, 50)) continue;
      if (auto* const one = std::get_if<Answer>(&what); one != nullptr && one->request == request)
        return *one;
    }
    return {};
  }
  // Stores a chunk of each stream; what was not acknowledged is sent again, under the same id, unless the log
  // has it.
  void send(const std::vector<std::string>& subjects, const std::vector<std::vector<std::int16_t>>& sounds,
            std::size_t first, std::size_t count) {
    std::set<std::size_t> missing;
    for (std::size_t i = 0; i < subjects.size(); ++i) missing.insert(i);
    for (int tries = 0; tries < 600 && !missing.empty(); ++tries) {
      // A server says at once that it has no leader.
      if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (tries > 0) forget_stored(missing, subjects, first);
      std::map<std::uint64_t, std::size_t> requests;
      for (const std::size_t i : missing) {
        fleet::Chunk chunk;
        chunk.first = static_cast<std::int64_t>(first);
        chunk.run = 1;
        chunk.end = first + count == sounds[i].size();
        fleet::Headers headers = fleet::headers_of(chunk);
        headers.emplace_back("Nats-Msg-Id", fleet::id_of(subjects[i], chunk));
        const std::string_view bytes(reinterpret_cast<const char*>(sounds[i].data() + first), 2 * count);
        requests[exchange_->append(subjects[i], fleet::Exchange::kAnyway, headers, bytes)] = i;
      }
      Happening what;
      while (!requests.empty() && exchange_->next(what, 5000)) {
        auto* const one = std::get_if<Answer>(&what);
        if (one == nullptr || !requests.contains(one->request)) continue;
        if (one->outcome == Answer::Outcome::done) missing.erase(requests[one->request]);
        requests.erase(one->request);
      }
    }
    EXPECT_TRUE(missing.empty()) << "chunk " << first << " was not stored";
  }
  // Takes from `missing` the streams whose log ends with the chunk from this sample on.
  void forget_stored(std::set<std::size_t>& missing, const std::vector<std::string>& subjects,
                     std::size_t first) {
    std::map<std::uint64_t, std::size_t> requests;
    for (const std::size_t i : missing) requests[exchange_->last(subjects[i])] = i;
    Happening what;
    while (!requests.empty() && exchange_->next(what, 5000)) {
      auto* const one = std::get_if<Answer>(&what);
      if (one == nullptr || !requests.contains(one->request)) continue;
      if (one->message) {
        const auto chunk = fleet::read_chunk(*one->message);
        if (chunk.ok() && chunk->first == static_cast<std::int64_t>(first))
          missing.erase(requests[one->request]);
      }
      requests.erase(one->request);
    }
  }
  // The events of a stream that has ended, as a reader of them gives them: as many as its entry says.
  std::vector<std::string> events(const std::string& subject) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(120);
    std::optional<std::uint64_t> until = events_at_end(subject);
    while (!until && Clock::now() < end) until = events_at_end(subject);
    return read_events(subject, until.value_or(0));
  }
  // So many, by a reader.
  std::vector<std::string> read_events(const std::string& subject, std::uint64_t count) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(120);
    std::vector<std::string> out;
    fleet::EventReader reader(*exchange_, "events." + subject);
    reader.ends_with(count);
    while (!reader.over() && Clock::now() < end) {
      Happening what;
      if (exchange_->next(what, 20))
        if (auto* const one = std::get_if<fleet::Delivery>(&what); one != nullptr)
          reader.delivered(*one, Clock::now().time_since_epoch());
      reader.work(Clock::now().time_since_epoch());
      for (auto event = reader.take(); event; event = reader.take()) {
        if (event->missing > 0)
          ADD_FAILURE() << subject << ": " << event->missing << " events are missing before event "
                        << event->number << '\n'
                        << stored(subject, event->number - 1);
        const auto& data = event->message.data;
        out.emplace_back(reinterpret_cast<const char*>(data.data()), data.size());
      }
    }
    if (!reader.over())
      ADD_FAILURE() << subject << ": event " << reader.next() << " did not come within two minutes\n"
                    << stored(subject, reader.next());
    EXPECT_EQ(reader.counts().missing, 0U) << subject << '\n' << stored(subject, reader.next());
    read_.doubled += reader.counts().doubled;
    read_.mended += reader.counts().mended;
    return out;
  }
  // What the servers keep of events near this one, where the test knows.
  virtual std::string stored(const std::string&, std::uint64_t) { return {}; }
  // The number of events of a stream whose run has ended; none: it has not, as far as this server knows.
  std::optional<std::uint64_t> events_at_end(const std::string& subject) {
    const Answer entry = answer(exchange_->last("$KV.runnel.s." + subject));
    if (!entry.message) return {};
    const auto parsed = fleet::read_entry(entry.message->headers);
    if (!parsed.ok() || !parsed->ended) return {};
    return parsed->events;
  }
  // Whether its first run has begun, as a saved state says: until then another graph takes over at once.
  bool begun(const std::string& subject) {
    const Answer entry = answer(exchange_->last("$KV.runnel.s." + subject));
    if (!entry.message) return false;
    const auto parsed = fleet::read_entry(entry.message->headers);
    return parsed.ok() && parsed->format.has_value();
  }
  bool ended(const std::string& subject) { return events_at_end(subject).has_value(); }
  // What one undisturbed run of the program says of the recording.
  std::vector<std::string> offline(const std::string& subject, const std::vector<std::int16_t>& samples,
                                   const char* decision = kEager) {
    const std::filesystem::path path = folder_.path() / "one.wav";
    write_wav(path, samples, kRate);
    std::vector<std::string> out;
    for (Json& event : json_lines(
             call_well({"listen", model(), "--wav", path.string(), "--tail", "0", "--decision", decision})
                 .out)) {
      if (event["type"] != "event") continue;
      event["source"] = subject;
      out.push_back(event.dump());
    }
    return out;
  }

  runnel::test::TemporaryFolder folder_;
  std::unique_ptr<fleet::test::NatsServer> server_;
  std::unique_ptr<fleet::JetStream> exchange_;
  fleet::EventReader::Counts read_;  // by events()
  int workers_ = 0;
};

// The order of the keys does not matter.
inline std::vector<Json> parsed(const std::vector<std::string>& lines) {
  std::vector<Json> out;
  for (const std::string& line : lines) out.push_back(Json::parse(line, nullptr, false));
  return out;
}

}  // namespace runnel::apps::test
