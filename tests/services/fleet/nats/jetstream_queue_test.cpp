// The queue of work over a real server.
#include "services/fleet/nats/jetstream_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/services/fleet/nats/nats_server.h"
#include "tests/support/data.h"

namespace runnel::fleet::test {
namespace {

using Clock = std::chrono::steady_clock;

class JetStreamQueueTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    server_ = NatsServer::start(why);
    if (server_ == nullptr) GTEST_SKIP() << "SKIPPED: " << why;
  }
  Wire::Settings settings() const {
    Wire::Settings out;
    out.urls = server_->url();
    out.name = "test";
    return out;
  }
  std::unique_ptr<JetStreamQueue> open(double patience = 30, const std::string& name = "set",
                                       bool make = true) {
    auto wire = make_wire();
    EXPECT_TRUE(wire.ok()) << wire.status().text();
    auto out = std::make_unique<JetStreamQueue>(*std::move(wire));
    const Status opened = out->open(settings(), {name, 1, patience, make});
    EXPECT_TRUE(opened.ok()) << opened.text();
    return out;
  }
  static std::vector<QueueEntry> entries(int count) {
    std::vector<QueueEntry> out;
    for (int i = 0; i < count; ++i) out.push_back({"key" + std::to_string(i), "item " + std::to_string(i)});
    return out;
  }
  // The next item, for which it asks as often as needed.
  static bool take(JetStreamQueue& queue, QueueItem& item, int seconds = 20) {
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    while (Clock::now() < end) {
      if (queue.coming() == 0) queue.pull(1);
      if (queue.next(item, 50)) return true;
    }
    return false;
  }
  static bool confirmed(JetStreamQueue& queue, const QueueItem& item) {
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (Clock::now() < end) {
      queue.acknowledge(item);
      for (int i = 0; i < 20; ++i) {
        const auto some = queue.confirmed();
        if (std::find(some.begin(), some.end(), item.sequence) != some.end()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    return false;
  }
  std::unique_ptr<NatsServer> server_;
};

TEST_F(JetStreamQueueTest, KeepsTheOrderOfAListAndEachEntryOnce) {
  const auto queue = open();
  const auto all = entries(1000);
  EXPECT_EQ(*queue->add(std::span(all).first(10)), 10U);
  EXPECT_EQ(*queue->add(all), 990U);
  EXPECT_EQ(*queue->add(all), 0U);
  // Two that fill it at the same time: every entry is there once.
  auto more = entries(1600);
  const auto other = open();
  std::thread second([&] { EXPECT_TRUE(other->add(more).ok()); });
  EXPECT_TRUE(queue->add(more).ok());
  second.join();
  EXPECT_EQ(*queue->add(more), 0U);
  const auto state = queue->state();
  ASSERT_TRUE(state.ok()) << state.status().text();
  EXPECT_EQ(state->total, 1600U);
  EXPECT_EQ(state->waiting, 1600U);
  queue->pull(1000);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    QueueItem item;
    ASSERT_TRUE(take(*queue, item)) << i;
    EXPECT_EQ(item.sequence, i);
    EXPECT_EQ(item.data, "item " + std::to_string(i - 1));
    EXPECT_EQ(item.deliveries, 1U);
  }
}

TEST_F(JetStreamQueueTest, GivesAgainWhatIsNeitherAcknowledgedNorKept) {
  const auto first = open(1), second = open(1);
  EXPECT_EQ(first->patience(), std::chrono::milliseconds(1000));
  const auto all = entries(3);
  ASSERT_EQ(*first->add(all), 3U);
  std::vector<QueueItem> items(3);
  for (QueueItem& item : items) ASSERT_TRUE(take(*first, item));
  ASSERT_TRUE(confirmed(*first, items[0]));
  // The second is kept for longer than the queue waits, the third is not.
  QueueItem again;
  second->pull(5);
  const auto end = Clock::now() + std::chrono::seconds(20);
  bool came = false;
  while (Clock::now() < end && !came) {
    first->keep(items[1]);
    came = second->next(again, 100);
  }
  ASSERT_TRUE(came);
  EXPECT_EQ(again.sequence, 3U);
  EXPECT_EQ(again.deliveries, 2U);
  EXPECT_EQ(again.data, "item 2");
  ASSERT_TRUE(confirmed(*second, again));
  // A late acknowledgement of another delivery changes nothing, and is confirmed.
  ASSERT_TRUE(confirmed(*first, items[2]));
  first->give_back(items[1], 0.1);
  ASSERT_TRUE(take(*second, again));
  EXPECT_EQ(again.sequence, 2U);
  ASSERT_TRUE(confirmed(*second, again));
  const auto state = first->state();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->waiting + state->under_way, 0U);
}

TEST_F(JetStreamQueueTest, SurvivesARestart) {
  const auto queue = open(2);
  const std::string identity = queue->identity();
  const auto all = entries(20);
  ASSERT_EQ(*queue->add(all), 20U);
  QueueItem item;
  ASSERT_TRUE(take(*queue, item));
  ASSERT_TRUE(confirmed(*queue, item));
  ASSERT_NE(*queue->set_note("note.1", 0, "before"), 0U);
  ASSERT_TRUE(server_->restart());
  std::vector<bool> seen(20, false);
  seen[0] = true;
  while (std::count(seen.begin(), seen.end(), true) < 20) {
    ASSERT_TRUE(take(*queue, item));
    if (confirmed(*queue, item)) seen[item.sequence - 1] = true;
  }
  EXPECT_EQ(queue->note("note.1")->text, "before");
  EXPECT_EQ(*queue->add(all), 0U);
  EXPECT_EQ(open()->identity(), identity);
}

TEST_F(JetStreamQueueTest, NotesAreSetUnderTheirRevision) {
  const auto queue = open();
  EXPECT_EQ(queue->note("note.5")->revision, 0U);
  const auto one = queue->set_note("note.5", 0, "one");
  ASSERT_TRUE(one.ok()) << one.status().text();
  EXPECT_NE(*one, 0U);
  EXPECT_EQ(*queue->set_note("note.5", 0, "late"), 0U);
  EXPECT_EQ(queue->note("note.5")->text, "one");
  EXPECT_EQ(queue->note("note.5")->revision, *one);
  EXPECT_GT(*queue->set_note("note.5", *one, "two"), *one);
  ASSERT_NE(*queue->set_note("apart.2", 0, "x"), 0U);
  EXPECT_EQ(*queue->notes("apart"), std::vector<std::string>{"apart.2"});
}

// docs/fleet.md names the rights that each one needs.
TEST(JetStreamQueueRights, AreThoseOfThePage) {
  std::string why;
  const auto server = NatsServer::start(why, R"(
    authorization { users = [
      {user: maker, password: m}
      {user: filler, password: f, permissions: {subscribe: "_INBOX.>", publish: ["queue.set.recording.*",
        "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.INFO.RUNNEL_QUEUE_set.workers"]}}
      {user: worker, password: w, permissions: {subscribe: "_INBOX.>", publish: ["queue.set.note.*",
        "queue.set.apart.*", "queue.set.call.*", "$JS.ACK.RUNNEL_QUEUE_set.>",
        "$JS.API.CONSUMER.MSG.NEXT.RUNNEL_QUEUE_set.workers", "$JS.API.STREAM.INFO.*",
        "$JS.API.STREAM.MSG.GET.RUNNEL_NOTES_set", "$JS.API.CONSUMER.INFO.RUNNEL_QUEUE_set.workers"]}}
    ]})");
  if (server == nullptr) GTEST_SKIP() << "SKIPPED: " << why;
  runnel::test::TemporaryFolder folder;
  const auto open = [&](const std::string& user, bool make) {
    Wire::Settings settings;
    settings.urls = server->url();
    settings.name = settings.user = user;
    settings.password_file = (folder.path() / user).string();
    std::ofstream(settings.password_file) << user[0] << '\n';
    auto queue = std::make_unique<JetStreamQueue>(*make_wire());
    const Status opened = queue->open(settings, {"set", 1, 30, make});
    EXPECT_TRUE(opened.ok()) << user << ": " << opened.text();
    return queue;
  };
  open("maker", true);
  const std::vector<QueueEntry> entries = {{"a", "1"}, {"b", "2"}};
  const auto added = open("filler", false)->add(entries);
  ASSERT_TRUE(added.ok()) << added.status().text();
  EXPECT_EQ(*added, 2U);
  const auto worker = open("worker", false);
  QueueItem item;
  worker->pull(2);
  ASSERT_TRUE(worker->next(item, 20000));
  worker->keep(item);
  worker->acknowledge(item);
  std::vector<std::uint64_t> confirmed;
  for (int i = 0; i < 1000 && confirmed.empty(); ++i) {
    confirmed = worker->confirmed();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(confirmed, std::vector<std::uint64_t>{1});
  for (const char* name : {"note.1", "apart.1", "call.first"}) {
    ASSERT_TRUE(worker->set_note(name, 0, "x").ok()) << name;
    EXPECT_EQ(worker->note(name)->text, "x");
  }
  EXPECT_EQ(worker->notes("apart")->size(), 1U);
  EXPECT_EQ(worker->state()->total, 2U);
}

TEST_F(JetStreamQueueTest, RefusesWithASentence) {
  JetStreamQueue missing(*make_wire());
  const Status none = missing.open(settings(), {"nothing", 1, 30, false});
  EXPECT_EQ(none.code(), Code::not_found);
  EXPECT_NE(std::string(none.text()).find("no queue of this name"), std::string::npos) << none.text();
  for (const char* name : {"", "a.b", "a b", "*", ">"}) {
    JetStreamQueue bad(*make_wire());
    EXPECT_EQ(bad.open(settings(), {name, 1, 30, true}).code(), Code::invalid_argument) << name;
  }
}

}  // namespace
}  // namespace runnel::fleet::test
