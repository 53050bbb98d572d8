// The exchange over a real server.
#include "services/fleet/nats/jetstream.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "services/fleet/chunk.h"
#include "tests/services/fleet/nats/nats_server.h"

namespace runnel::fleet::test {
namespace {

class JetStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    server_ = NatsServer::start(why);
    if (server_ == nullptr) GTEST_SKIP() << "SKIPPED: " << why;
    first_ = connect();
    ASSERT_NE(first_, nullptr);
  }
  std::unique_ptr<JetStream> connect(int gather = 0) {
    auto wire = make_wire();
    EXPECT_TRUE(wire.ok()) << wire.status().text();
    if (!wire.ok()) return nullptr;
    auto out = std::make_unique<JetStream>(*std::move(wire));
    Wire::Settings settings;
    settings.urls = server_->url();
    settings.name = "test";
    settings.gather = gather;
    const Status opened = out->open(settings);
    EXPECT_TRUE(opened.ok()) << opened.text();
    for (const JetStream::Wanted& wanted : {JetStream::Wanted{"audio.>", "AUDIO", 1, 1, false},
                                            JetStream::Wanted{"events.>", "EVENTS", 1, 0, false},
                                            JetStream::Wanted{"$KV.runnel.>", "KV_runnel", 1, 0, true}}) {
      const Status used = out->use(wanted);
      EXPECT_TRUE(used.ok()) << used.text();
    }
    return out;
  }
  // The answer to a request; deliveries that come meanwhile are kept.
  Answer answer(JetStream& exchange, std::uint64_t request) {
    Happening what;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (!exchange.next(what, 100)) continue;
      if (auto* const answer = std::get_if<Answer>(&what); answer != nullptr && answer->request == request)
        return *answer;
      if (auto* const delivery = std::get_if<Delivery>(&what); delivery != nullptr)
        deliveries_.push_back(*delivery);
    }
    ADD_FAILURE() << "no answer";
    return {};
  }
  bool deliveries(JetStream& exchange, std::size_t count) {
    Happening what;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (deliveries_.size() < count && std::chrono::steady_clock::now() < end) {
      if (!exchange.next(what, 100)) continue;
      if (auto* const delivery = std::get_if<Delivery>(&what); delivery != nullptr)
        deliveries_.push_back(*delivery);
    }
    return deliveries_.size() == count;
  }
  std::unique_ptr<NatsServer> server_;
  std::unique_ptr<JetStream> first_;
  std::vector<Delivery> deliveries_;
};

TEST_F(JetStreamTest, AppendsOnlyAfterTheMessageThatIsKnown) {
  const Answer one = answer(*first_, first_->append("events.audio.a", 0, {{"Runnel-Event", "1"}}, "first"));
  EXPECT_EQ(one.outcome, Answer::Outcome::done) << one.why;
  EXPECT_EQ(answer(*first_, first_->append("events.audio.a", 0, {}, "late")).outcome,
            Answer::Outcome::outdated);
  const Answer other = answer(*first_, first_->append("events.audio.b", 0, {}, "another log"));
  EXPECT_EQ(other.outcome, Answer::Outcome::done);
  const Answer two = answer(*first_, first_->append("events.audio.a", one.sequence, {{"Runnel-Event", "2"}},
                                                    std::string(1000, '\0')));
  EXPECT_EQ(two.outcome, Answer::Outcome::done);
  EXPECT_GT(two.sequence, one.sequence);
  const Answer last = answer(*first_, first_->last("events.audio.a"));
  ASSERT_TRUE(last.message.has_value());
  EXPECT_EQ(last.message->sequence, two.sequence);
  EXPECT_EQ(last.message->data, std::vector<std::byte>(1000));
  ASSERT_NE(find(last.message->headers, "Runnel-Event"), nullptr);
  EXPECT_EQ(*find(last.message->headers, "Runnel-Event"), "2");
  const Answer none = answer(*first_, first_->last("events.audio.c"));
  EXPECT_EQ(none.outcome, Answer::Outcome::done);
  EXPECT_FALSE(none.message.has_value());
  const Answer nowhere = answer(*first_, first_->append("elsewhere", 0, {}, "x"));
  EXPECT_EQ(nowhere.outcome, Answer::Outcome::failed);
  EXPECT_NE(nowhere.why.find("no server stores"), std::string::npos) << nowhere.why;
}

// By the leader, and by any server for those who may ask for nothing else.
TEST_F(JetStreamTest, TheFirstMessageFromASequenceOn) {
  auto wire = make_wire();
  ASSERT_TRUE(wire.ok()) << wire.status().text();
  JetStream direct(*std::move(wire));
  Wire::Settings settings;
  settings.urls = server_->url();
  settings.name = "direct";
  ASSERT_TRUE(direct.open(settings).ok());
  direct.know("audio.>", "AUDIO");
  std::vector<std::uint64_t> sequences;
  for (const char* const subject : {"audio.a", "audio.b", "audio.a", "audio.b"})
    sequences.push_back(
        answer(*first_, first_->append(subject, Exchange::kAnyway, {{"Runnel-First", "7"}}, subject))
            .sequence);
  for (JetStream* const one : {first_.get(), &direct}) {
    const auto first = [&](std::uint64_t from) { return answer(*one, one->first("audio.a", from)); };
    for (const auto& [from, expected] : {std::pair{std::uint64_t{0}, sequences[0]},
                                         {sequences[0], sequences[0]},
                                         {sequences[0] + 1, sequences[2]}}) {
      const Answer found = first(from);
      ASSERT_EQ(found.outcome, Answer::Outcome::done) << found.why;
      ASSERT_TRUE(found.message) << from;
      EXPECT_EQ(found.message->sequence, expected);
      EXPECT_EQ(found.message->subject, "audio.a");
      EXPECT_EQ(found.message->data.size(), 7U);
      ASSERT_NE(find(found.message->headers, "Runnel-First"), nullptr);
    }
    const Answer none = first(sequences[2] + 1);
    EXPECT_EQ(none.outcome, Answer::Outcome::done) << none.why;
    EXPECT_FALSE(none.message);
    EXPECT_EQ(one->copies("audio.a"), 1U);
    EXPECT_EQ(one->copies("elsewhere"), 1U);
  }
}

TEST_F(JetStreamTest, FeedsGoOnOverARestart) {
  std::vector<std::uint64_t> sequences;
  const auto put = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      Answer stored;
      do
        stored = answer(*first_, first_->append("audio.a", Exchange::kAnyway,
                                                {{"Nats-Msg-Id", std::to_string(i)}}, std::to_string(i)));
      while (stored.outcome != Answer::Outcome::done);
      sequences.push_back(stored.sequence);
    }
  };
  put(0, 20);
  const auto second = connect();
  ASSERT_NE(second, nullptr);
  const std::uint64_t feed = second->follow("audio.a", sequences[5]);
  ASSERT_TRUE(deliveries(*second, 15));
  put(20, 40);
  ASSERT_TRUE(deliveries(*second, 35));
  ASSERT_TRUE(server_->restart());
  put(40, 60);
  ASSERT_TRUE(deliveries(*second, 55));
  for (std::size_t i = 0; i < deliveries_.size(); ++i) {
    EXPECT_EQ(deliveries_[i].feed, feed);
    EXPECT_EQ(deliveries_[i].message.subject, "audio.a");
    EXPECT_EQ(deliveries_[i].message.sequence, sequences[i + 5]);
    const std::string text = std::to_string(i + 5);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(deliveries_[i].message.data.data()),
                          deliveries_[i].message.data.size()),
              text);
  }
  second->leave(feed);
}

// The library once used subscriptions that were gone: processes died of it.
TEST_F(JetStreamTest, FeedsEndWhileTheirMessagesCome) {
  constexpr std::size_t kMessages = 2000, kRounds = 100;
  for (std::size_t i = 0; i < kMessages; ++i)
    first_->append("events.audio.a", Exchange::kAnyway, {{"Runnel-Event", std::to_string(i + 1)}}, "text");
  ASSERT_EQ(answer(*first_, first_->append("events.audio.a", Exchange::kAnyway, {}, "last")).outcome,
            Answer::Outcome::done);
  for (const int gather : {0, 5}) {
    const auto other = connect(gather);
    ASSERT_NE(other, nullptr);
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::uint64_t feed = other->follow("events.audio.a", 1);
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      std::size_t came = 0;
      while (came < round % 10 + 1) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "round " << round;
        Happening what;
        if (!other->next(what, 100)) continue;
        const auto* const one = std::get_if<Delivery>(&what);
        if (one != nullptr && one->feed == feed) ++came;
      }
      other->leave(feed);
    }
  }
}

TEST_F(JetStreamTest, WatchesWithoutData) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(answer(*first_, first_->append("$KV.runnel.s.audio.a", Exchange::kAnyway,
                                             {{"Runnel-Owner", std::to_string(i)}}, "state"))
                  .outcome,
              Answer::Outcome::done);
  }
  answer(*first_, first_->append("$KV.runnel.w.me", Exchange::kAnyway, {}, ""));
  first_->watch("$KV.runnel.>");
  ASSERT_TRUE(deliveries(*first_, 2));
  EXPECT_EQ(deliveries_[0].message.subject, "$KV.runnel.s.audio.a");
  EXPECT_EQ(*find(deliveries_[0].message.headers, "Runnel-Owner"), "2") << "the last one only";
  EXPECT_TRUE(deliveries_[0].message.data.empty());
  EXPECT_EQ(deliveries_[1].message.subject, "$KV.runnel.w.me");
  answer(*first_, first_->append("$KV.runnel.w.me", Exchange::kAnyway, {}, ""));
  ASSERT_TRUE(deliveries(*first_, 3));
}

TEST_F(JetStreamTest, ListsSubjects) {
  for (int i = 0; i < 30; ++i)
    answer(*first_, first_->append("audio.room." + std::to_string(i), Exchange::kAnyway, {}, "x"));
  const Answer all = answer(*first_, first_->list("audio.>"));
  EXPECT_EQ(all.outcome, Answer::Outcome::done) << all.why;
  EXPECT_EQ(all.subjects.size(), 30U);
  EXPECT_EQ(answer(*first_, first_->list("audio.room.7")).subjects, std::vector<std::string>{"audio.room.7"});
}

TEST(JetStreamText, HeadersAndBase64) {
  const auto bytes = from_base64("aGVsbG8gd29ybGQ=");
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()), "hello world");
  EXPECT_FALSE(from_base64("a b").ok());
  const Headers headers = headers_in("NATS/1.0\r\nA: one\r\nB:two: three\r\n\r\n");
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].second, "one");
  EXPECT_EQ(headers[1].second, "two: three");
}

}  // namespace
}  // namespace runnel::fleet::test
