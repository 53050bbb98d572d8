#include "services/net/access/admission.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "services/net/access/inbox.h"
#include "services/net/address.h"

namespace runnel::net::test {
namespace {

using Answer = Admission::Answer;
using std::chrono::milliseconds;

ClientKey key(const std::string& address, bool own = false) {
  return key_of(Address::parse(address + ":1")->bytes, own);
}

TEST(Admission, KnowsAddresses) {
  EXPECT_EQ(key("127.0.0.1"), ClientKey{}) << "this machine is not counted";
  EXPECT_EQ(key("[::1]"), ClientKey{});
  EXPECT_EQ(key("[::ffff:127.0.0.1]"), ClientKey{}) << "nor under its other name";
  EXPECT_NE(key("127.0.0.1", true), ClientKey{});
  EXPECT_NE(key("[::1]", true), ClientKey{});
  EXPECT_NE(key("192.0.2.1"), key("192.0.2.2"));
  EXPECT_EQ(key("192.0.2.1"), key("[::ffff:192.0.2.1]"));
  EXPECT_EQ(key("[2001:db8:0:1::1]"), key("[2001:db8:0:1:ffff::2]")) << "one network";
  EXPECT_NE(key("[2001:db8:0:1::1]"), key("[2001:db8:0:2::1]"));
  EXPECT_EQ(key_of(sockaddr_storage{}, true), ClientKey{}) << "a local socket";
}

TEST(Admission, LimitsConnectionsOfAnAddress) {
  auto admission = std::make_shared<Admission>(Admission::Limits{.most_connections = 2, .rate = 0});
  const ClientKey one = key("192.0.2.1"), other = key("192.0.2.2");
  const Admission::Time now{};
  EXPECT_EQ(admission->enter(one, now), Answer::yes);
  Place first(admission, one);
  {
    EXPECT_EQ(admission->enter(one, now), Answer::yes);
    const Place second(admission, one);
    EXPECT_EQ(admission->enter(one, now), Answer::too_many);
    EXPECT_EQ(admission->enter(other, now), Answer::yes);
    const Place third(admission, other);
  }
  EXPECT_EQ(admission->enter(one, now), Answer::yes) << "one has left";
  EXPECT_EQ(admission->enter(one, now), Answer::too_many);
  // A place that has moved is given up once.
  Place moved = std::move(first);
  first = Place();
  EXPECT_EQ(admission->enter(one, now), Answer::too_many);
  moved = Place();
  EXPECT_EQ(admission->enter(one, now), Answer::yes);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(admission->enter(key("127.0.0.1"), now), Answer::yes);
  EXPECT_EQ(admission->turned_away(), 3U);
}

TEST(Admission, LimitsTheRate) {
  Admission admission({.most_connections = 0, .rate = 10, .burst = 20});
  const ClientKey one = key("192.0.2.1");
  Admission::Time now{};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(admission.enter(one, now), Answer::yes) << i;
  EXPECT_EQ(admission.enter(one, now), Answer::too_fast);
  EXPECT_EQ(admission.enter(key("192.0.2.2"), now), Answer::yes);
  now += milliseconds(1050);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(admission.enter(one, now), Answer::yes) << i;
  EXPECT_EQ(admission.enter(one, now), Answer::too_fast);
  // A failure costs ten connections, here all that the next second gives.
  admission.blame(one);
  EXPECT_EQ(admission.enter(one, now + milliseconds(1000)), Answer::too_fast);
  EXPECT_EQ(admission.enter(one, now + milliseconds(1200)), Answer::yes);
}

TEST(Admission, RemembersFailures) {
  Admission admission({.most_connections = 0, .rate = 10, .burst = 20});
  const ClientKey one = key("192.0.2.1");
  Admission::Time now{};
  EXPECT_EQ(admission.enter(one, now), Answer::yes);
  for (int i = 0; i < 1000; ++i) admission.blame(one);
  EXPECT_EQ(admission.enter(one, now), Answer::too_fast);
  // The debt is one burst, and no more.
  EXPECT_EQ(admission.enter(one, now + milliseconds(1900)), Answer::too_fast);
  EXPECT_EQ(admission.enter(one, now + milliseconds(2150)), Answer::yes);
}

TEST(Admission, HasRoomForManyAddresses) {
  Admission admission({.most_connections = 1, .rate = 100, .burst = 100, .most_addresses = 64});
  Admission::Time now{};
  // More addresses than it remembers: those beyond share the limit of one.
  int yes = 0;
  for (int i = 0; i < 256; ++i)
    yes += admission.enter(key("10.0." + std::to_string(i) + ".1"), now) == Answer::yes ? 1 : 0;
  EXPECT_EQ(yes, 65);
  for (int i = 0; i < 256; ++i) admission.leave(key("10.0." + std::to_string(i) + ".1"));
  // Those who have been quiet are forgotten.
  now += milliseconds(5000);
  yes = 0;
  for (int i = 0; i < 64; ++i)
    yes += admission.enter(key("10.1." + std::to_string(i) + ".1"), now) == Answer::yes ? 1 : 0;
  EXPECT_EQ(yes, 64);
}

TEST(Inbox, HandsClientsOver) {
  auto admission = std::make_shared<Admission>(Admission::Limits{.most_connections = 1, .rate = 0});
  const ClientKey one = key("192.0.2.1");
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  {
    Inbox inbox;
    ASSERT_TRUE(inbox.open(admission).ok());
    EXPECT_FALSE(inbox.take().has_value());
    ASSERT_EQ(admission->enter(one, {}), Answer::yes);
    EXPECT_TRUE(inbox.put({dup(ends[0]), Place(admission, one), true}));
    EXPECT_EQ(admission->enter(one, {}), Answer::too_many) << "it is on its way";
    {
      auto newcomer = inbox.take();
      ASSERT_TRUE(newcomer.has_value());
      EXPECT_TRUE(newcomer->trusted);
      EXPECT_EQ(admission->enter(one, {}), Answer::too_many);
      close(newcomer->socket);
    }
    EXPECT_EQ(admission->enter(one, {}), Answer::yes);
    EXPECT_TRUE(inbox.put({ends[0], Place(admission, one), false}));
  }
  // Whom nobody took is hung up on.
  EXPECT_EQ(admission->enter(one, {}), Answer::yes);
  char byte = 0;
  EXPECT_EQ(recv(ends[1], &byte, 1, 0), 0);
  close(ends[1]);
}

}  // namespace
}  // namespace runnel::net::test
