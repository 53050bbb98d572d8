// Three servers that keep every message three times, workers, and streams, while any of them dies or is cut
// off.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "services/fleet/entry.h"
#include "tests/apps/fleet/link.h"
#include "tests/apps/fleet/replicas.h"
#include "tests/apps/fleet/stored.h"
#include "tests/apps/fleet/work_support.h"

namespace runnel::apps::test {
namespace {

// A port that nobody has at this moment.
int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

class ClusterTest : public WorkTest {
 protected:
  static constexpr int kServers = 3;

  void SetUp() override {
    // Before servers are started.
    if (std::getenv("RUNNEL_CLUSTER_COURSES") == nullptr &&
        std::string_view(testing::UnitTest::GetInstance()->current_test_info()->name()) == "Courses")
      GTEST_SKIP() << "SKIPPED: RUNNEL_CLUSTER_COURSES is not set: more courses than the one of every run";
    const int ports[] = {free_port(), free_port(), free_port()};
    for (int i = 0; i < kServers; ++i) {
      std::string routes;
      for (int j = 0; j < kServers; ++j) {
        if (i != j) links_[i][j] = std::make_unique<Link>(ports[j]);
        // Its own port, too: the number of routes is that of servers which vote.
        const int port = i == j ? ports[j] : links_[i][j]->port();
        ASSERT_NE(port, 0);
        routes += (routes.empty() ? "" : ", ") + ("\"nats://127.0.0.1:" + std::to_string(port) + "\"");
      }
      // Nobody listens at what is advertised, so that no server finds a way around the links.
      std::string why;
      servers_.push_back(fleet::test::NatsServer::start(
          why, "server_name: s" + std::to_string(i) + "\ncluster {name: tests, listen: \"127.0.0.1:" +
                   std::to_string(ports[i]) + "\", advertise: \"127.0.0.1:1\", routes: [" + routes + "]}\n"));
      if (servers_.back() == nullptr) GTEST_SKIP() << "SKIPPED: " << why;
    }
    auto wire = fleet::make_wire();
    ASSERT_TRUE(wire.ok()) << wire.status().text();
    exchange_ = std::make_unique<fleet::JetStream>(*std::move(wire));
    fleet::Wire::Settings settings;
    settings.urls = url();
    settings.name = "sender";
    ASSERT_TRUE(exchange_->open(settings).ok());
    use_logs(kServers);
  }
  [[nodiscard]] std::string url() const override {
    std::string out;
    for (const auto& one : servers_) out += (out.empty() ? "" : ",") + one->url();
    return out;
  }

  // One course: streams are sent at `speed` times their own pace, or as fast as that goes; every few seconds
  // a worker is killed and another started, or a server is killed and started again, stopped, or cut off.
  void course(unsigned seed, std::size_t streams, double seconds, double speed, int workers_at_once) {
    constexpr std::size_t kSounds = 4, kPiece = kRate / 2;
    std::vector<std::vector<std::int16_t>> different, sounds;
    for (std::size_t i = 0; i < kSounds; ++i) {
      different.push_back(tone_words(seconds, kRate));
      std::rotate(different[i].begin(), different[i].begin() + static_cast<std::ptrdiff_t>(5000 * i + seed),
                  different[i].end());
      different[i].resize(different[i].size() / kPiece * kPiece);
    }
    std::vector<std::string> subjects;
    for (std::size_t i = 0; i < streams; ++i) {
      sounds.push_back(different[i % kSounds]);
      subjects.push_back("audio.s" + std::to_string(seed) + '.' + std::to_string(i));
    }
    std::vector<std::unique_ptr<Background>> workers;
    for (int i = 0; i < workers_at_once; ++i) workers.push_back(worker());
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    std::atomic<bool> sent = false;
    Troubles had;
    std::thread trouble([&] { had = make_trouble(seed, workers, sent); });
    const std::size_t pieces = sounds[0].size() / kPiece;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      send(subjects, sounds, piece * kPiece, kPiece);
      std::this_thread::sleep_until(
          begin + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(static_cast<double>(piece * kPiece) / kRate / speed)));
    }
    sent = true;
    trouble.join();
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    await_end(subjects, workers);
    if (HasFatalFailure()) return;
    std::vector<std::vector<std::string>> expected;
    for (const auto& sound : different) expected.push_back(offline("", sound));
    std::size_t found = 0;
    read_ = {};
    for (std::size_t i = 0; i < streams; ++i) {
      std::vector<Json> wanted = parsed(expected[i % kSounds]);
      for (Json& event : wanted) event["source"] = subjects[i];
      found += wanted.size();
      EXPECT_EQ(parsed(events(subjects[i])), wanted) << subjects[i];
    }
    EXPECT_GT(found, streams);
    std::printf(
        "seed %u: %zu streams of %.0f s sent in %.1f s, %.1f times real time; workers killed %d, servers "
        "restarted %d, stopped %d, cut off %d; %zu events, each once\n",
        seed, streams, seconds, took, seconds / took, had.killed, had.restarted, had.stopped, had.cut, found);
    // What a reader that believes one copy would have had.
    std::printf("  read: %llu doubled, %llu from another copy; %s\n",
                static_cast<unsigned long long>(read_.doubled), static_cast<unsigned long long>(read_.mended),
                compared(copies()).c_str());
  }

  // Each server's own copy of the log of events, from its files.
  std::vector<Copy> copies() {
    std::vector<Copy> out;
    for (std::size_t i = 0; i < servers_.size(); ++i)
      out.push_back({"s" + std::to_string(i), stored_messages(servers_[i]->store(), "RUNNEL_EVENTS")});
    return out;
  }
  std::string stored(const std::string& subject, std::uint64_t number) override {
    return near(copies(), "events." + subject, number);
  }

  struct Troubles {
    int killed = 0, restarted = 0, stopped = 0, cut = 0;
  };
  // Until all is sent, and at the end everything is well again. It does not wait for the sender, who may be
  // connected to the server that is away.
  Troubles make_trouble(unsigned seed, std::vector<std::unique_ptr<Background>>& workers,
                        const std::atomic<bool>& sent) {
    using Clock = std::chrono::steady_clock;
    using std::chrono::milliseconds;
    std::mt19937 random(seed);
    Troubles had;
    Replicas replicas;
    EXPECT_TRUE(replicas.open(url()).ok());
    int away = -1, kind = static_cast<int>(seed);
    Clock::time_point next = Clock::now() + milliseconds(1000), mended;
    const auto come_back = [&] {
      if (away < 0) return;
      servers_[static_cast<std::size_t>(away)]->go_on();
      cut(away, false);
      away = -1;
    };
    for (; !sent; std::this_thread::sleep_for(milliseconds(20))) {
      if (Clock::now() > mended) come_back();
      if (Clock::now() < next) continue;
      next = Clock::now() + milliseconds(1000 + random() % 1500);
      const std::size_t server = random() % kServers, one = random() % workers.size();
      ++kind;
      // Of three copies one may fail: the next server does when the last one has caught up.
      if (kind % 3 != 0 &&
          (away >= 0 || !replicas.current({"RUNNEL_INPUT", "RUNNEL_EVENTS", "KV_runnel"}, kServers - 1)))
        continue;
      switch (kind % 3) {
        case 0:
          workers[one]->end(SIGKILL);
          workers[one] = worker();
          ++had.killed;
          break;
        case 1:
          EXPECT_TRUE(servers_[server]->restart());
          ++had.restarted;
          break;
        default:
          away = static_cast<int>(server);
          if (had.stopped <= had.cut) {
            servers_[server]->stop();
            ++had.stopped;
          } else {
            cut(away, true);
            ++had.cut;
          }
          mended = Clock::now() + milliseconds(1000 + random() % 9000);
      }
    }
    come_back();
    return had;
  }

  // Until every stream has ended. A stream is stuck if nothing of it is saved for a minute, while others get
  // on.
  void await_end(const std::vector<std::string>& subjects,
                 const std::vector<std::unique_ptr<Background>>& workers) {
    constexpr std::chrono::seconds kStuck(60), kLongest(180);
    auto progress = std::chrono::steady_clock::now();  // of any
    std::map<std::string, std::pair<std::uint64_t, std::chrono::steady_clock::time_point>> covered;
    std::vector<std::string> left = subjects;
    while (!left.empty()) {
      const auto now = std::chrono::steady_clock::now();
      for (auto at = left.begin(); at != left.end();) {
        const Answer entry = answer(exchange_->last("$KV.runnel.s." + *at));
        const auto parsed = fleet::read_entry(entry.message ? entry.message->headers : fleet::Headers());
        if (parsed.ok() && parsed->ended) {
          at = left.erase(at);
          progress = now;
          continue;
        }
        const std::uint64_t newest = parsed.ok() ? parsed->covered : 0;
        auto& [known, since] = covered.try_emplace(*at, newest, now).first->second;
        if (newest > known) known = newest, since = progress = now;
        if (now - since > (progress > since ? kStuck : kLongest)) return give_up(*at, left.size(), workers);
        ++at;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
  // What is known of a stream that got stuck, by the servers and by the workers.
  void give_up(const std::string& subject, std::size_t stuck,
               const std::vector<std::unique_ptr<Background>>& workers) {
    for (const auto& one : workers) one->signal(SIGUSR1);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::string out;
    const Answer entry = answer(exchange_->last("$KV.runnel.s." + subject));
    if (entry.message) {
      out += "entry " + std::to_string(entry.message->sequence) + '\n';
      for (const auto& [name, value] : entry.message->headers) out += "  " + name + ": " + value + '\n';
    } else {
      out += "no entry: " + entry.why + '\n';
    }
    for (const std::string& log : {subject, "events." + subject}) {
      const Answer last = answer(exchange_->last(log));
      out += log + " ends with " + (last.message ? std::to_string(last.message->sequence) : "none") +
             last.why + '\n';
    }
    for (int i = 1; i <= workers_; ++i) {
      std::ifstream log(folder_.path() / ("worker" + std::to_string(i)));
      out += "worker " + std::to_string(i) + ":\n";
      for (std::string line; std::getline(log, line);)
        if (line.find("{\"stream\"") == std::string::npos ||
            line.find('"' + subject + '"') != std::string::npos)
          out += "  " + line + '\n';
    }
    for (const auto& server : servers_) {
      out += server->url() + ":\n";
      std::istringstream log(server->log());
      for (std::string line; std::getline(log, line);)
        if (line.find("[WRN]") != std::string::npos || line.find("[ERR]") != std::string::npos)
          out += "  " + line + '\n';
    }
    FAIL() << subject << " did not end, one of " << stuck << '\n' << out;
  }

  // Between one server and the others.
  void cut(int server, bool is) {
    for (int other = 0; other < kServers; ++other) {
      if (other == server) continue;
      for (Link* const link : {links_[server][other].get(), links_[other][server].get()})
        is ? link->cut() : link->mend();
    }
  }

  std::unique_ptr<Link> links_[kServers][kServers];  // of the first to the second
  std::vector<std::unique_ptr<fleet::test::NatsServer>> servers_;
};

TEST_F(ClusterTest, EveryEventOnceWhileWorkersAndServersDie) { course(1, 12, 120, 10, 3); }

// Many messages at once that shall all follow the same one. The servers' own condition lets several pass;
// that is printed, because it is a matter of luck.
TEST_F(ClusterTest, OnlyOneMessageFollowsAnother) {
  constexpr int kRounds = 40, kAtOnce = 4;
  std::vector<std::unique_ptr<fleet::JetStream>> clients;
  for (int i = 0; i < kAtOnce; ++i) {
    auto wire = fleet::make_wire();
    ASSERT_TRUE(wire.ok()) << wire.status().text();
    clients.push_back(std::make_unique<fleet::JetStream>(*std::move(wire)));
    fleet::Wire::Settings settings;
    settings.urls = servers_[static_cast<std::size_t>(i % kServers)]->url();
    settings.name = "one of many";
    ASSERT_TRUE(clients.back()->open(settings).ok());
    use(*clients.back(), {"events.>", "RUNNEL_EVENTS", 0, 0, false});
  }
  const auto round = [&](const std::string& subject, std::uint64_t after, bool named, std::uint64_t& newest) {
    std::vector<std::uint64_t> requests;
    for (int i = 0; i < kAtOnce; ++i) {
      fleet::Headers headers;
      if (named) headers.emplace_back(fleet::kMessageId, subject + std::to_string(after) + std::to_string(i));
      requests.push_back(clients[static_cast<std::size_t>(i)]->append(subject, after, headers, "x"));
    }
    int done = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Happening what;
      const Answer* one = nullptr;
      while (one == nullptr && clients[i]->next(what, 20000)) {
        one = std::get_if<Answer>(&what);
        if (one != nullptr && one->request != requests[i]) one = nullptr;
      }
      if (one != nullptr && one->outcome == Answer::Outcome::done) ++done;
    }
    // Some may have failed, on a busy machine: what the log ends with is asked.
    const Answer last = answer(exchange_->last(subject));
    if (last.message) newest = std::max(newest, last.message->sequence);
    return done;
  };
  int doubled = 0, stored = 0;
  for (const bool named : {false, true}) {
    const std::string subject = named ? "events.named" : "events.exact";
    std::uint64_t newest = 0;
    for (int i = 0; i < kRounds; ++i) {
      const int done = round(subject, newest, named, newest);
      if (named && done > 1) ++doubled;
      if (named) continue;
      EXPECT_LE(done, 1) << "round " << i;
      stored += done;
    }
  }
  EXPECT_GT(stored, 0);
  std::printf("conditions alone let more than one message pass in %d of %d rounds\n", doubled, kRounds);
}

// A leader that is stopped, and goes on, finds what its clients sent it meanwhile, and takes itself for the
// leader for a moment more. nats-server 2.9.10 keeps these messages in place of those that the others have
// stored since; whether it happens is printed. Who reads the events has each once, wherever he reads.
TEST_F(ClusterTest, ALeaderThatWasStoppedMayKeepItsOwn) {
  constexpr int kBefore = 20, kAside = 300, kAll = 360;
  Replicas replicas;
  ASSERT_TRUE(replicas.open(url()).ok());
  std::string leader;
  for (int tries = 0; tries < 30 && leader.empty(); ++tries) leader = replicas.leader("RUNNEL_EVENTS");
  ASSERT_EQ(leader.substr(0, 1), "s");
  auto& stopped = *servers_[static_cast<std::size_t>(std::atoi(leader.c_str() + 1))];
  const auto client_of = [&](const std::string& urls) {
    auto wire = fleet::make_wire();
    EXPECT_TRUE(wire.ok());
    auto out = std::make_unique<fleet::JetStream>(*std::move(wire));
    fleet::Wire::Settings settings;
    settings.urls = urls;
    settings.name = "one of two";
    EXPECT_TRUE(out->open(settings).ok());
    use(*out, {"events.>", "RUNNEL_EVENTS", 0, 0, false});
    return out;
  };
  std::string others;
  for (const auto& one : servers_)
    if (one.get() != &stopped) others += (others.empty() ? "" : ",") + one->url();
  const auto aside = client_of(stopped.url());
  exchange_ = client_of(others);
  // As workers do: one event of a stream at a time.
  const auto put = [](fleet::JetStream& by, const std::string& subject, int number, std::uint64_t after) {
    const std::string text = std::to_string(number), log = "events." + subject;
    return by.append(log, after, {{"Runnel-Event", text}, {std::string(fleet::kMessageId), log + ' ' + text}},
                     text);
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);
  const auto put_well = [&](const std::string& subject, int number, std::uint64_t after) {
    while (std::chrono::steady_clock::now() < end)
      if (answer(put(*exchange_, subject, number, after)).outcome != Answer::Outcome::failed) return;
    ADD_FAILURE() << "event " << number << " of " << subject << " was not stored";
  };
  constexpr auto kAnyway = fleet::Exchange::kAnyway;
  for (int number = 1; number <= kBefore; ++number) put_well("audio.a", number, kAnyway);
  stopped.stop();
  for (int i = 0; i < kAside; ++i) put(*aside, "audio.b" + std::to_string(i), 1, 0);
  aside->flush(1000);
  for (int number = kBefore + 1; number <= kAll; ++number) put_well("audio.a", number, kAnyway);
  stopped.go_on();
  for (int i = 0; i < kAside; ++i) put_well("audio.b" + std::to_string(i), 1, 0);
  while (!replicas.current({"RUNNEL_EVENTS"}, kServers - 1) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::vector<std::string> wanted;
  for (int number = 1; number <= kAll; ++number) wanted.push_back(std::to_string(number));
  for (int times = 0; times < 4; ++times) {
    EXPECT_EQ(read_events("audio.a", kAll), wanted);
    for (int i = times; i < kAside; i += kAside / 4)
      EXPECT_EQ(read_events("audio.b" + std::to_string(i), 1), std::vector<std::string>{"1"}) << i;
  }
  std::printf("%s was stopped; read: %llu doubled, %llu from another copy; %s\n", leader.c_str(),
              static_cast<unsigned long long>(read_.doubled), static_cast<unsigned long long>(read_.mended),
              compared(copies()).c_str());
}

// Who owns the streams, as the bucket shows it.
class Owners {
 public:
  explicit Owners(fleet::JetStream& exchange)
      : exchange_(exchange), feed_(exchange.watch("$KV.runnel.s.>")) {}

  // Until `enough` holds; false: not within a minute.
  bool until(const std::function<bool()>& enough) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!enough()) {
      if (std::chrono::steady_clock::now() > end) return false;
      Happening what;
      if (!exchange_.next(what, 20)) continue;
      auto* const one = std::get_if<fleet::Delivery>(&what);
      if (one == nullptr || one->feed != feed_) continue;
      const auto entry = fleet::read_entry(one->message.headers);
      if (!entry.ok()) continue;
      std::string& owner = now[one->message.subject];
      if (entry->owner == owner) continue;
      // From the signal on. An entry without an owner is there so briefly that a watch may miss it.
      const auto time = std::chrono::steady_clock::now();
      if (entry->owner.empty()) {
        since_.try_emplace(one->message.subject, time);
      } else if (const auto at = since_.find(one->message.subject); at != since_.end()) {
        without.push_back(std::chrono::duration<double>(time - at->second).count());
        since_.erase(at);
      }
      owner = entry->owner;
    }
    return true;
  }
  [[nodiscard]] std::size_t of(const std::string& id) const {
    return static_cast<std::size_t>(
        std::count_if(now.begin(), now.end(), [&](const auto& one) { return one.second == id; }));
  }
  // All streams of a worker shall have another owner: the time begins.
  void leaves(const std::string& id) {
    for (const auto& [subject, owner] : now)
      if (owner == id) since_[subject] = std::chrono::steady_clock::now();
  }
  // "median 1.5 s, worst 1.9 s (40 streams)" of all since the last call.
  std::string take_times() {
    std::sort(without.begin(), without.end());
    char text[80];
    std::snprintf(text, sizeof text, "median %.3f s, worst %.3f s (%zu streams)",
                  without.empty() ? 0 : without[without.size() / 2], without.empty() ? 0 : without.back(),
                  without.size());
    without.clear();
    return text;
  }

  std::map<std::string, std::string> now;  // by the entry's subject
  std::vector<double> without;             // s

 private:
  fleet::JetStream& exchange_;
  std::uint64_t feed_;
  std::map<std::string, std::chrono::steady_clock::time_point> since_;
};

// How long streams have no owner while a worker dies, or leaves. The times are printed: what they are depends
// on the machine.
TEST_F(ClusterTest, StreamsHaveANewOwnerSoon) {
  constexpr std::size_t kStreams = 30, kPiece = kRate / 2;
  std::vector<std::string> subjects;
  for (std::size_t i = 0; i < kStreams; ++i) subjects.push_back("audio.o." + std::to_string(i));
  std::vector<std::unique_ptr<Background>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(worker());
  std::vector<std::string> ids;
  for (int i = 1; i <= 3; ++i) ids.push_back(id_of_worker(i));
  auto wire = fleet::make_wire();
  ASSERT_TRUE(wire.ok()) << wire.status().text();
  fleet::JetStream other(*std::move(wire));
  fleet::Wire::Settings settings;
  settings.urls = url();
  settings.name = "watcher";
  ASSERT_TRUE(other.open(settings).ok());
  use(other, {"$KV.runnel.>", "KV_runnel", 0, 0, true});
  Owners owners(other);
  std::atomic<bool> enough = false;
  std::thread sender([&] {
    const std::vector<std::vector<std::int16_t>> sounds(kStreams, tone_words(120, kRate));
    for (std::size_t first = 0; !enough && first + kPiece < sounds[0].size(); first += kPiece) {
      send(subjects, sounds, first, kPiece);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
  const auto shared = [&] {
    return owners.until([&] {
      return owners.now.size() == kStreams && std::all_of(ids.begin(), ids.end(), [&](const auto& id) {
               return owners.of(id) >= kStreams / 3;
             });
    });
  };
  bool well = shared();
  for (const bool planned : {false, true}) {
    owners.without.clear();
    for (std::size_t i = 0; well && i < 3; ++i) {
      const std::string id = ids[i];
      owners.leaves(id);
      workers[i]->signal(planned ? SIGTERM : SIGKILL);
      well = owners.until([&] { return owners.of(id) == 0 && owners.of("") == 0; });
      std::printf("from %s to the next owner: %s\n", planned ? "SIGTERM" : "SIGKILL",
                  owners.take_times().c_str());
      workers[i]->wait();
      workers[i] = worker();
      ids[i] = id_of_worker(workers_);
      well = well && shared();
      owners.without.clear();
    }
  }
  enough = true;
  sender.join();
  EXPECT_TRUE(well) << "streams without an owner, or not shared, for a minute";
}

// RUNNEL_CLUSTER_COURSES, _SEED, _STREAMS, _SECONDS, _SPEED: how many, from which seed on, how many streams
// in each, how long these are, and how many times faster than real time they are sent.
TEST_F(ClusterTest, Courses) {
  const auto number = [](const char* name, double otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtod(text, nullptr);
  };
  const auto courses = static_cast<unsigned>(number("RUNNEL_CLUSTER_COURSES", 1));
  const auto first = static_cast<unsigned>(number("RUNNEL_CLUSTER_SEED", 11));
  for (unsigned seed = first; seed < first + courses; ++seed) {
    course(seed, static_cast<std::size_t>(number("RUNNEL_CLUSTER_STREAMS", 40)),
           number("RUNNEL_CLUSTER_SECONDS", 150), number("RUNNEL_CLUSTER_SPEED", 10), 4);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace runnel::apps::test
