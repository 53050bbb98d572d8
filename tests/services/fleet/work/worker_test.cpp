#include "services/fleet/work/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "services/fleet/entry.h"
#include "tests/services/fleet/fleet_harness.h"

namespace runnel::fleet::test {
namespace {

std::string name_of(int i) { return "audio.room." + std::to_string(i); }

// Every stream has an owner, and no two have the same one.
bool all_owned(Fleet& fleet, std::size_t streams) {
  std::multiset<std::string> owned;
  for (const Fleet::Member& member : fleet.members)
    for (const std::string& name : member.worker->streams()) owned.insert(name);
  return owned.size() == streams && std::set<std::string>(owned.begin(), owned.end()).size() == streams;
}

bool all_heard(Fleet& fleet, const std::vector<Sender>& senders) {
  return std::all_of(senders.begin(), senders.end(), [&](const Sender& one) {
    const auto& log = fleet.logs.log("$KV.runnel.s." + one.subject);
    if (log.empty()) return false;
    const auto entry = read_entry(log.back().headers);
    return entry.ok() && (entry->ended || entry->covered == fleet.logs.log(one.subject).back().sequence);
  });
}

std::string state_of(Fleet& fleet, const std::vector<Sender>& senders) {
  std::string out;
  for (const Sender& one : senders) {
    const auto& log = fleet.logs.log("$KV.runnel.s." + one.subject);
    if (log.empty()) {
      out += one.subject + ": no entry\n";
      continue;
    }
    const auto entry = read_entry(log.back().headers);
    out += one.subject + ": owner \"" + entry->owner + "\", covered " + std::to_string(entry->covered) +
           " of " + std::to_string(fleet.logs.log(one.subject).back().sequence) + '\n';
  }
  for (const Fleet::Member& member : fleet.members) {
    const WorkerFacts facts = member.worker->facts();
    out += member.id + ": " + std::to_string(facts.streams) + " streams, " + std::to_string(facts.workers) +
           " workers, " + std::to_string(facts.known) + " known" + (member.worker->left() ? ", left" : "") +
           '\n';
    for (const std::string& line : member.worker->take_news()) out += "  " + line + '\n';
  }
  return out;
}

TEST(Worker, StreamsAreSharedEvenlyAndMoveWithoutLoss) {
  Fleet fleet(1, {});
  std::vector<Sender> senders;
  for (int i = 0; i < 40; ++i) senders.emplace_back(name_of(i), static_cast<unsigned>(i), 3000);
  const auto send = [&](std::int64_t ticks) {
    for (std::int64_t t = 0; t < ticks; ++t) {
      if (t % 10 == 0)
        for (Sender& sender : senders) sender.send(fleet.logs);
      fleet.tick();
    }
  };
  fleet.add();
  send(100);
  ASSERT_TRUE(fleet.until([&] { return all_owned(fleet, 40); }, 5000));
  fleet.add();
  fleet.add();
  send(2000);
  ASSERT_TRUE(fleet.until([&] { return all_owned(fleet, 40); }, 5000));
  for (const Fleet::Member& member : fleet.members) {
    EXPECT_GE(member.worker->facts().streams, 13U);
    EXPECT_LE(member.worker->facts().streams, 14U);
    EXPECT_EQ(member.worker->facts().lost, 0U) << "nothing is taken from a worker that lives";
  }
  // One leaves in peace: the others have its streams at once, without a beat that is missed.
  Fleet::Member& first = fleet.members.front();
  first.worker->leave();
  ASSERT_TRUE(fleet.until([&] { return first.worker->left(); }, 200));
  fleet.run(10);
  fleet.kill(first);
  ASSERT_TRUE(fleet.until([&] { return all_owned(fleet, 40); }, 200));
  while (std::any_of(senders.begin(), senders.end(), [&](Sender& one) { return one.send(fleet.logs); }))
    fleet.tick();
  for (Sender& sender : senders)
    while (sender.send(fleet.logs)) {
    }
  ASSERT_TRUE(fleet.until([&] { return all_heard(fleet, senders); }, 20000));
  for (const Sender& sender : senders)
    EXPECT_EQ(events_of(fleet.logs, sender.subject), Sender::expected(fleet.logs, sender.subject))
        << sender.subject;
}

// Workers are killed, paused for longer than others wait, and started; the exchange is away.
// Returns the chunks that were missing in one copy only, as far as the last workers counted.
std::uint64_t course(unsigned seed, const MemoryLogs::Faults& faults) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  Fleet fleet(seed, faults);
  std::vector<Sender> senders;
  for (int i = 0; i < 12; ++i) senders.emplace_back(name_of(i), seed * 100 + static_cast<unsigned>(i), 4000);
  const auto quick = [](WorkerOptions& options) {
    options.save = std::chrono::milliseconds(700);
    options.list = std::chrono::milliseconds(100);
  };
  // A copy that lacks a chunk cannot be told from one that has it, if later chunks bring its samples.
  for (Sender& sender : senders) sender.tidy = faults.holes > 0;
  for (int i = 0; i < 3; ++i) fleet.add(1, quick);
  std::int64_t down_until = 0;
  int killed = 0, paused = 0;
  bool sending = true;
  for (std::int64_t t = 0; sending || t % 1000 != 0; ++t) {
    if (t % 20 == 0) {
      sending = false;
      for (Sender& sender : senders) sending = sender.send(fleet.logs) || sending;
    }
    if (random() % 700 == 0 && !fleet.members.empty()) {
      auto at = fleet.members.begin();
      std::advance(at, random() % fleet.members.size());
      switch (random() % 3) {
        case 0:
          fleet.kill(*at);
          ++killed;
          break;
        case 1:
          at->paused_until = fleet.now + 500 + static_cast<std::int64_t>(random() % 5000);
          ++paused;
          break;
        default:
          at->worker->leave();
      }
    }
    if (random() % 900 == 0 || fleet.members.empty()) fleet.add(1, quick);
    if (random() % 3000 == 0) down_until = fleet.now + static_cast<std::int64_t>(random() % 3000);
    fleet.logs.down(fleet.now < down_until);
    fleet.tick();
  }
  fleet.logs.down(false);
  fleet.logs.settle();
  EXPECT_GT(killed + paused, 0);
  fleet.add(1, quick);
  for (Fleet::Member& member : fleet.members) member.paused_until = 0;
  const bool heard = fleet.until([&] { return all_heard(fleet, senders); }, 120000);
  EXPECT_TRUE(heard) << state_of(fleet, senders);
  if (!heard) return 0;
  for (const Sender& sender : senders)
    EXPECT_EQ(events_of(fleet.logs, sender.subject), Sender::expected(fleet.logs, sender.subject))
        << sender.subject;
  std::uint64_t mended = 0;
  for (const Fleet::Member& member : fleet.members) mended += member.worker->facts().chunks.mended;
  return mended;
}

// Requests and answers are lost, too: every event is there once.
TEST(Worker, EveryEventOnceWhateverHappens) {
  for (unsigned seed = 1; seed <= 30; ++seed)
    course(seed, seed % 3 != 0 ? MemoryLogs::Faults{0.03, 0.03, 0.05, 30} : MemoryLogs::Faults{});
}

// Servers that were cut off answer with what they knew, consumers fall silent, go on and repeat, and number
// what they give differently.
TEST(Worker, EveryEventOnceWhileServersAreLeftBehind) {
  for (unsigned seed = 101; seed <= 130; ++seed)
    course(seed, {.lost_request = 0.02,
                  .lost_answer = 0.02,
                  .doubled = 0.05,
                  .slowest = 30,
                  .stale = 0.3,
                  .silent = 0.002,
                  .behind = 4000,
                  .drift = 5});
}

// Three copies, of which one lacks a chunk here and there: a consumer leaves out what another one gives.
TEST(Worker, EveryEventOnceWhileCopiesHaveHoles) {
  std::uint64_t mended = 0;
  for (unsigned seed = 201; seed <= 208; ++seed)
    mended += course(seed, {.lost_request = 0.02,
                            .lost_answer = 0.02,
                            .doubled = 0.05,
                            .slowest = seed % 2 == 0 ? 30 : 0,
                            .stale = 0.2,
                            .silent = 0.002,
                            .behind = 4000,
                            .holes = seed % 4 < 2 ? 0.05 : 0.5});
  EXPECT_GT(mended, 100U);
}

// A worker comes, and the others give it streams; none of their notes says so.
TEST(Worker, AStreamIsTakenAlthoughNoNoteSaysThatItIsFree) {
  Fleet fleet(8, {});
  for (int i = 0; i < 30; ++i)
    fleet.logs.put(name_of(i), Exchange::kAnyway, headers_of(chunk_at(0, 10)), bytes_at(0, 10));
  for (int i = 0; i < 2; ++i) fleet.add();
  ASSERT_TRUE(fleet.until([&] { return all_owned(fleet, 30); }, 5000));
  fleet.run(6000);
  const Fleet::Member& third = fleet.add();
  // It hears who has the streams, and that it has a share.
  ASSERT_TRUE(fleet.until([&] { return third.worker->facts().workers == 3; }, 3000));
  fleet.logs.miss(1);
  ASSERT_TRUE(fleet.until([&] { return !all_owned(fleet, 30); }, 3000));
  EXPECT_TRUE(fleet.until([&] { return all_owned(fleet, 30); }, 10000)) << state_of(fleet, {});
  EXPECT_GT(third.worker->facts().corrected, 0U);
}

// What workers hear of streams that others have is incomplete for good: a copy lacks it.
TEST(Worker, NoStreamIsLostWhileNotesAre) {
  for (unsigned seed = 301; seed <= 304; ++seed)
    course(seed, {.lost_request = 0.02, .lost_answer = 0.02, .slowest = 30, .missed = 0.3});
}

// Entries become older ones again, whose next version cannot be stored, for its name is taken.
TEST(Worker, NoStreamIsLostWhileEntriesGoBack) {
  for (unsigned seed = 401; seed <= 402; ++seed)
    course(seed, {.lost_request = 0.02, .lost_answer = 0.02, .slowest = 30, .reverted = 0.003});
}

// The time without an owner after a kill: four beats and what claiming takes.
TEST(Worker, AKilledWorkersStreamsAreTakenSoon) {
  Fleet fleet(3, {});
  for (int i = 0; i < 30; ++i)
    fleet.logs.put(name_of(i), Exchange::kAnyway, headers_of(chunk_at(0, 10)), bytes_at(0, 10));
  for (int i = 0; i < 3; ++i) fleet.add();
  ASSERT_TRUE(fleet.until([&] { return all_owned(fleet, 30); }, 5000));
  fleet.kill(fleet.members.front());
  const std::int64_t killed = fleet.now;
  ASSERT_TRUE(fleet.until([&] { return all_owned(fleet, 30); }, 5000));
  EXPECT_LE(fleet.now - killed, 2000);
  EXPECT_GE(fleet.now - killed, 1000) << "a worker that is slow for a moment is not dead";
}

// While the exchange is away nobody hears beats: that kills nobody.
TEST(Worker, AnExchangeThatWasAwayMovesNothing) {
  Fleet fleet(4, {});
  for (int i = 0; i < 30; ++i)
    fleet.logs.put(name_of(i), Exchange::kAnyway, headers_of(chunk_at(0, 10)), bytes_at(0, 10));
  for (int i = 0; i < 3; ++i) fleet.add();
  ASSERT_TRUE(fleet.until([&] { return all_owned(fleet, 30); }, 5000));
  fleet.run(3000);  // the first one had all of them for a moment
  std::uint64_t taken = 0;
  for (const Fleet::Member& member : fleet.members) taken += member.worker->facts().taken;
  fleet.logs.down(true);
  fleet.run(30000);
  fleet.logs.down(false);
  fleet.run(3000);
  EXPECT_TRUE(all_owned(fleet, 30));
  for (const Fleet::Member& member : fleet.members) taken -= member.worker->facts().taken;
  EXPECT_EQ(taken, 0U);
}

// A worker with another model does not touch what was saved with this one.
TEST(Worker, AnotherModelIsRefused) {
  Fleet fleet(5, {});
  fleet.logs.put(name_of(1), Exchange::kAnyway, headers_of(chunk_at(0, 10)), bytes_at(0, 10));
  Fleet::Member& first = fleet.add(1);
  ASSERT_TRUE(fleet.until([&] { return all_owned(fleet, 1); }, 5000));
  fleet.run(200);
  first.worker->leave();
  ASSERT_TRUE(fleet.until([&] { return first.worker->left(); }, 1000));
  fleet.kill(first);
  const Fleet::Member& second = fleet.add(2);
  fleet.run(5000);
  EXPECT_EQ(second.worker->facts().streams, 0U);
  EXPECT_GE(second.worker->facts().refused, 1U);
  bool said = false;
  for (const std::string& line : fleet.members.front().worker->take_news())
    said = said || line.find("another graph or another model") != std::string::npos;
  EXPECT_TRUE(said);
}

// A worker that is full says so; another one takes the rest.
TEST(Worker, TakesNoMoreThanItMay) {
  Fleet fleet(7, {});
  for (int i = 0; i < 10; ++i)
    fleet.logs.put(name_of(i), Exchange::kAnyway, headers_of(chunk_at(0, 10)), bytes_at(0, 10));
  const auto few = [](WorkerOptions& options) { options.most_streams = 6; };
  fleet.add(1, few);
  fleet.run(3000);
  EXPECT_EQ(fleet.members.front().worker->facts().streams, 6U);
  bool said = false;
  for (const std::string& line : fleet.members.front().worker->take_news())
    said = said || line.find("more streams than the 6") != std::string::npos;
  EXPECT_TRUE(said);
  fleet.add(1, few);
  EXPECT_TRUE(fleet.until([&] { return all_owned(fleet, 10); }, 5000));
}

// Bad messages are set apart with the reason, once, and the stream goes on.
TEST(Worker, BadChunksAreSetApart) {
  Fleet fleet(6, {});
  const std::string name = name_of(1);
  const auto put = [&](const Headers& headers, const std::string& data) {
    fleet.logs.put(name, Exchange::kAnyway, headers, data);
  };
  put(headers_of(chunk_at(0, 100)), bytes_at(0, 100));
  put({}, "x");
  put({{"Runnel-Format", "s16 16000 1"}, {"Runnel-First", "-1"}}, "xx");
  put({{"Runnel-Format", "s16 16000 1"}, {"Runnel-First", "100"}}, "odd");
  put(headers_of(chunk_at(std::int64_t{1} << 40, 100)), bytes_at(0, 100));
  Chunk other = chunk_at(100, 50);
  other.format.channels = 2;
  put(headers_of(other), bytes_at(0, 100));
  put(headers_of(chunk_at(100, 100)), bytes_at(100, 100));
  Fleet::Member& member = fleet.add();
  ASSERT_TRUE(fleet.until([&] { return member.worker->facts().chunks.heard == 2; }, 5000));
  fleet.run(100);
  const auto& apart = fleet.logs.log("apart." + name);
  ASSERT_EQ(apart.size(), 5U);
  const char* const why[] = {"without the header", "\"-1\"", "multiple of 2", "at most 3600 s",
                             "in a run in"};
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string* const reason = find(apart[i].headers, "Runnel-Reason");
    ASSERT_NE(reason, nullptr);
    EXPECT_NE(reason->find(why[i]), std::string::npos) << *reason;
  }
  EXPECT_EQ(member.worker->facts().chunks.set_apart, 5U);
  EXPECT_EQ(events_of(fleet.logs, name), Sender::expected(fleet.logs, name));
}

}  // namespace
}  // namespace runnel::fleet::test
