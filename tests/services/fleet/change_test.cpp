// Other graphs take over streams that run, while workers die, pause and leave.
#include <gtest/gtest.h>

#include <algorithm>

#include "services/fleet/chunk.h"
#include "services/fleet/entry.h"
#include "tests/services/fleet/fleet_harness.h"

namespace runnel::fleet::test {
namespace {

struct Marker {
  Change change;
  std::uint32_t graph = 0;
  std::string text;
};

// The changes of a stream, as its log of events has them.
std::vector<Marker> changes_of(const MemoryLogs& logs, const std::string& subject) {
  std::vector<Marker> out;
  for (const Message& message : logs.log("events." + subject)) {
    const std::string* const change = find(message.headers, kChangeHeader);
    if (change == nullptr) continue;
    const auto parsed = read_change(*change);
    const auto graph = read_digits(*find(message.headers, kGraphHeader));
    EXPECT_TRUE(parsed.ok() && graph.ok());
    if (parsed->count == out.size()) continue;
    EXPECT_EQ(parsed->count, out.size() + 1);
    out.push_back(
        {*parsed, *graph, {reinterpret_cast<const char*>(message.data.data()), message.data.size()}});
  }
  return out;
}

// What offline runs give that are cut where the changes say: one graph after another, each over its own
// samples.
std::vector<std::string> offline(const MemoryLogs& logs, const std::string& subject,
                                 const std::vector<Marker>& changes) {
  std::vector<std::string> out;
  // The first graph is that of the claim of its first owner.
  std::uint32_t graph = read_entry(logs.log("$KV.runnel.s." + subject).front().headers)->graph;
  std::unique_ptr<Run> run;
  std::uint64_t covered = 0, number = 0;
  std::int64_t next = 0;
  bool begun = false, ended = false;
  std::size_t done = 0;
  serve::SampleFormat format;
  const auto start = [&](std::int64_t first) { return *CountingRunner(graph).start(subject, format, first); };
  const auto take = [&] {
    const std::string lines = run->take();
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = lines.find('\n', at);
      out.push_back(lines.substr(at, end - at));
      at = end + 1;
    }
  };
  const auto change_here = [&](bool new_run) {
    while (!new_run && done < changes.size() && changes[done].change.covered == covered &&
           changes[done].change.run == number && changes[done].change.sample == next) {
      out.push_back(changes[done].text);
      graph = changes[done].graph;
      ++done;
      if (run == nullptr) continue;
      EXPECT_TRUE(run->end().ok());
      take();
      run = start(next);
    }
  };
  for (const Message& message : logs.log(subject)) {
    change_here(false);
    const auto chunk = read_chunk(message);
    const auto cover = [&] { covered = message.sequence; };
    if (!chunk.ok()) {
      cover();
      continue;
    }
    const bool begins = !begun || chunk->run > number;
    if (!begins && (chunk->run < number || ended)) {
      cover();
      continue;
    }
    if (begins) {
      if (run != nullptr) {
        EXPECT_TRUE(run->end().ok());
        take();
      }
      format = chunk->format;
      run = start(0);
      begun = true, ended = false, number = chunk->run, next = 0;
    }
    const std::int64_t end = chunk->first + chunk->samples;
    for (;;) {
      std::int64_t until = end;
      if (done < changes.size() && changes[done].change.covered == covered &&
          changes[done].change.run == number)
        until = std::min(until, changes[done].change.sample);
      if (chunk->first > next) {
        run->lose(chunk->first - next);
        next = chunk->first;
      }
      if (until > next) {
        const std::size_t frame = format.frame_bytes();
        Runner::Turn turn{run.get(),
                          std::span(message.data)
                              .subspan(static_cast<std::size_t>(next - chunk->first) * frame,
                                       static_cast<std::size_t>(until - next) * frame),
                          {}};
        CountingRunner(graph).hear({&turn, 1});
        next = until;
      }
      take();
      if (until >= end) break;
      change_here(false);
    }
    cover();
    if (chunk->end) {
      EXPECT_TRUE(run->end().ok());
      take();
      run = nullptr;
      ended = true;
    }
  }
  change_here(false);
  EXPECT_EQ(done, changes.size()) << "a change that no run could make";
  return out;
}

bool all_heard(Fleet& fleet, const std::vector<Sender>& senders, std::uint32_t graph) {
  return std::all_of(senders.begin(), senders.end(), [&](const Sender& one) {
    const auto& log = fleet.logs.log("$KV.runnel.s." + one.subject);
    if (log.empty()) return false;
    const auto entry = read_entry(log.back().headers);
    return entry.ok() && entry->covered == fleet.logs.log(one.subject).back().sequence &&
           entry->graph == graph && !entry->becomes;
  });
}

std::string news_of(Fleet& fleet) {
  std::string out;
  for (const Fleet::Member& member : fleet.members)
    for (const std::string& line : member.worker->take_news()) out += member.id + ": " + line + '\n';
  return out;
}

std::string name_of(int i) { return "audio.room." + std::to_string(i); }
void quick(WorkerOptions& options) {
  options.save = std::chrono::milliseconds(700);
  options.list = std::chrono::milliseconds(100);
}

// Exactly at the sample that was asked for, in the middle of a chunk.
TEST(Change, HappensAtTheNamedSample) {
  Fleet fleet(1, {});
  fleet.publish(2);
  fleet.add(1, quick, true);
  std::vector<Sender> senders;
  for (int i = 0; i < 100; ++i) senders.emplace_back(name_of(i), static_cast<unsigned>(i), 3000);
  for (Sender& sender : senders) sender.send(fleet.logs);
  fleet.run(1000);
  fleet.deploy({"audio.>", 2, 1501, "two", 0});
  fleet.run(1000);
  bool sending = true;
  while (sending) {
    sending = false;
    for (Sender& sender : senders) sending = sender.send(fleet.logs) || sending;
    fleet.run(3);
  }
  ASSERT_TRUE(fleet.until([&] { return all_heard(fleet, senders, 2); }, 20000)) << news_of(fleet);
  std::size_t exact = 0, late = 0;
  for (const Sender& sender : senders) {
    const auto changes = changes_of(fleet.logs, sender.subject);
    if (changes.empty()) {  // its first chunk came only then
      ++late;
      continue;
    }
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_GE(changes[0].change.sample, 1501);
    exact += changes[0].change.sample == 1501 ? 1 : 0;
    EXPECT_EQ(events_of(fleet.logs, sender.subject), offline(fleet.logs, sender.subject, changes));
  }
  EXPECT_LE(late, 10U);
  EXPECT_GE(exact, 80U) << "later only where that sample was lost";
}

// Also where workers die or are paused just then, so that another one goes on from an older state, and
// answers are late or lost: everybody knew of the sample long before it came.
TEST(Change, HappensAtTheNamedSampleWhoeverHasTheStream) {
  constexpr std::int64_t kChunk = 100, kAt = 1550, kSamples = 2500;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Fleet fleet(seed, seed % 2 == 0 ? MemoryLogs::Faults{0.03, 0.03, 0.05, 30} : MemoryLogs::Faults{});
    fleet.publish(2);
    for (int i = 0; i < 4; ++i) fleet.add(1, quick, true);
    const auto send = [&](std::int64_t first) {
      for (int i = 0; i < 40; ++i) {
        Chunk chunk = chunk_at(first, kChunk);
        chunk.end = first + kChunk == kSamples;
        fleet.logs.put(name_of(i), Exchange::kAnyway, headers_of(chunk), bytes_at(first, kChunk));
      }
    };
    std::int64_t first = 0;
    for (; first < 1000; first += kChunk) send(first), fleet.run(20);
    // Those that nobody has heard yet would begin with the other graph.
    ASSERT_TRUE(fleet.until(
        [&] {
          std::uint64_t heard = 0;
          for (const Fleet::Member& one : fleet.members) heard += one.worker->facts().chunks.heard;
          return heard >= 40U * 10;
        },
        20000));
    fleet.deploy({"audio.>", 2, kAt, "two", 0});
    ASSERT_TRUE(fleet.until(
        [&] {
          return std::all_of(fleet.members.begin(), fleet.members.end(),
                             [](const auto& one) { return one.worker->facts().graphs_here == 2; });
        },
        20000));
    for (; first < kSamples; first += kChunk) {
      send(first);
      fleet.run(1 + static_cast<std::int64_t>(random() % 40));
      if (first == 1300 || first == 1400) {
        fleet.kill(fleet.members.front());
      } else if (first == 1500) {
        fleet.members.front().paused_until = fleet.now + 4000;
      }
    }
    const auto ended = [&](int i) {
      const auto& log = fleet.logs.log("$KV.runnel.s." + name_of(i));
      const auto entry = read_entry(log.back().headers);
      return entry.ok() && entry->ended;
    };
    ASSERT_TRUE(fleet.until(
        [&] {
          for (int i = 0; i < 40; ++i)
            if (!ended(i)) return false;
          return true;
        },
        60000))
        << news_of(fleet);
    for (int i = 0; i < 40; ++i) {
      const auto changes = changes_of(fleet.logs, name_of(i));
      ASSERT_EQ(changes.size(), 1U) << name_of(i);
      EXPECT_EQ(changes[0].change.sample, kAt) << name_of(i);
      EXPECT_EQ(events_of(fleet.logs, name_of(i)), offline(fleet.logs, name_of(i), changes)) << name_of(i);
    }
  }
}

// Every event once, and each graph over its own samples alone, whatever happens to the workers.
TEST(Change, OldAndNewNeverMixWhateverHappens) {
  std::size_t changed = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const bool rough = seed % 3 != 0;
    Fleet fleet(seed, rough ? MemoryLogs::Faults{0.03, 0.03, 0.05, 30} : MemoryLogs::Faults{});
    for (std::uint32_t graph = 1; graph <= 4; ++graph) fleet.publish(graph);
    fleet.deploy({"audio.>", 1, {}, "one", 0});
    std::vector<Sender> senders;
    for (int i = 0; i < 10; ++i)
      senders.emplace_back(name_of(i), seed * 100 + static_cast<unsigned>(i), 4000);
    // Workers that were started with other graphs do the same work.
    const auto add = [&] { fleet.add(1 + random() % 6, quick, true); };
    for (int i = 0; i < 3; ++i) add();
    std::int64_t down_until = 0;
    bool sending = true;
    std::uint32_t last = 1;
    for (std::int64_t t = 0; sending || t % 1000 != 0; ++t) {
      if (t % 20 == 0) {
        sending = false;
        for (Sender& sender : senders) {
          bool more = sender.send(fleet.logs);
          if (!more && sender.run < 3) {  // another run of the same stream
            ++sender.run;
            sender.at = 0;
            more = true;
          }
          sending = more || sending;
        }
      }
      if (random() % 300 == 0) {
        Rule rule{"audio.>", last = static_cast<std::uint32_t>(1 + random() % 4), {}, "", 0};
        if (random() % 2 == 0) rule.at = static_cast<std::int64_t>(random() % 4000);
        fleet.deploy(rule);
      }
      if (random() % 500 == 0 && !fleet.members.empty()) {
        auto at = fleet.members.begin();
        std::advance(at, random() % fleet.members.size());
        switch (random() % 3) {
          case 0:
            fleet.kill(*at);
            break;
          case 1:
            at->paused_until = fleet.now + 500 + static_cast<std::int64_t>(random() % 5000);
            break;
          default:
            at->worker->leave();
        }
      }
      if (random() % 700 == 0 || fleet.members.empty()) add();
      if (random() % 3000 == 0) down_until = fleet.now + static_cast<std::int64_t>(random() % 3000);
      fleet.logs.down(fleet.now < down_until);
      fleet.tick();
    }
    fleet.logs.down(false);
    add();
    for (Fleet::Member& member : fleet.members) member.paused_until = 0;
    fleet.deploy({"audio.>", last, {}, "", 0});
    const bool heard = fleet.until([&] { return all_heard(fleet, senders, last); }, 60000);
    std::string where;
    if (!heard)
      for (const Sender& sender : senders) {
        const auto& log = fleet.logs.log("$KV.runnel.s." + sender.subject);
        for (const auto& [key, value] : log.back().headers) where += key + ": " + value + ", ";
        where += "of " + std::to_string(fleet.logs.log(sender.subject).back().sequence) + '\n';
      }
    ASSERT_TRUE(heard) << "wanted " << last << '\n' << where << news_of(fleet);
    for (const Sender& sender : senders) {
      const auto changes = changes_of(fleet.logs, sender.subject);
      changed += changes.size();
      EXPECT_EQ(events_of(fleet.logs, sender.subject), offline(fleet.logs, sender.subject, changes))
          << sender.subject;
    }
  }
  EXPECT_GT(changed, 100U);
}

// What is not in the exchange, or is not what its name says, is refused with the reason, and nothing changes.
TEST(Change, AGraphThatCannotBeHadChangesNothing) {
  Fleet fleet(2, {});
  fleet.add(1, quick, true);
  fleet.logs.put(name_of(1), Exchange::kAnyway, headers_of(chunk_at(0, 10)), bytes_at(0, 10));
  fleet.run(500);
  GraphRecord record;
  record.identity = 7;
  record.models.push_back({std::string(64, 'a'), 3});
  fleet.logs.put(record_subject("$KV.runnel", 7), Exchange::kAnyway, {}, text_of(record));
  fleet.logs.put(part_subject("$KV.runnel", record.models[0], 0), Exchange::kAnyway, {}, "abc");
  fleet.logs.put(record_subject("$KV.runnel", 8), Exchange::kAnyway, {}, "nonsense");
  fleet.deploy({"audio.>", 7, {}, "", 0});
  fleet.run(500);
  fleet.deploy({"audio.>", 8, {}, "", 0});
  fleet.run(500);
  fleet.deploy({"audio.>", 9, {}, "", 0});
  fleet.run(500);
  fleet.logs.put(rules_subject("$KV.runnel"), Exchange::kAnyway, {}, "{}");
  fleet.run(500);
  fleet.logs.put(name_of(1), Exchange::kAnyway, headers_of(chunk_at(10, 90)), bytes_at(10, 90));
  fleet.run(3000);
  const std::string news = news_of(fleet);
  for (const char* const sentence :
       {"00000007 cannot be run here: a model whose checksum", "00000008 cannot be run here",
        "00000009 cannot be run here: it is not in the bucket", "rules that cannot be read"})
    EXPECT_NE(news.find(sentence), std::string::npos) << news;
  EXPECT_TRUE(changes_of(fleet.logs, name_of(1)).empty());
  EXPECT_EQ(fleet.members.front().worker->facts().chunks.heard, 2U);
}

TEST(Rules, TheLastThatCoversAStreamCounts) {
  Rules rules;
  ASSERT_TRUE(rules.add({"audio.>", 1, {}, "one", 5}).ok());
  ASSERT_TRUE(rules.add({"audio.hall.*", 2, 77, "two", 6}).ok());
  EXPECT_EQ(rules.find("audio.room")->graph, 1U);
  EXPECT_EQ(rules.find("audio.hall.1")->graph, 2U);
  EXPECT_EQ(rules.find("audio.hall.1.left")->graph, 1U);
  EXPECT_EQ(rules.find("video.1"), nullptr);
  ASSERT_TRUE(rules.add({"audio.>", 3, {}, "three", 7}).ok());
  EXPECT_EQ(rules.find("audio.hall.1")->graph, 3U);
  const auto read = read_rules(text_of(rules));
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(*read, rules);
  ASSERT_TRUE(rules.take_back().ok());
  EXPECT_EQ(rules.find("audio.hall.1")->graph, 2U);
  EXPECT_EQ(rules.find("audio.hall.1")->at, std::nullopt);
  ASSERT_TRUE(rules.take_back().ok());
  EXPECT_EQ(rules.find("audio.hall.1")->graph, 1U);
  EXPECT_EQ(rules.take_back().code(), Code::not_found);
}

TEST(Rules, GarbageIsRefused) {
  Rules rules;
  ASSERT_TRUE(rules.add({"audio.>", 1, 3, "one", 5}).ok());
  ASSERT_TRUE(rules.add({"b.>", 2, {}, "two", 5}).ok());
  GraphRecord record;
  record.identity = 5;
  record.around = "fbank ! infer model=model:0";
  record.models.push_back({std::string(64, '0'), 10});
  record.labels = {"a", "b"};
  ASSERT_TRUE(read_graph_record(text_of(record)).ok());
  EXPECT_EQ(*read_graph_record(text_of(record)), record);
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 == 0 ? text_of(rules) : text_of(record);
    for (int k = 0; k < 1 + i % 4; ++k)
      if (!text.empty()) {
        const std::size_t at = random() % text.size();
        if (random() % 3 == 0)
          text.erase(at, 1 + random() % 8);
        else
          text[at] = static_cast<char>(random());
      }
    const Status status = i % 2 == 0 ? read_rules(text).status() : read_graph_record(text).status();
    if (!status.ok()) {
      ++refused;
      EXPECT_FALSE(status.text().empty());
    }
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace runnel::fleet::test
