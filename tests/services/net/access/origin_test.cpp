#include "services/net/access/origin.h"

#include <gtest/gtest.h>

namespace runnel::net::test {
namespace {

TEST(Origin, KnowsItsOwnHost) {
  const Address home = *Address::parse("127.0.0.1:8080"), everywhere = *Address::parse("0.0.0.0:8080");
  for (const char* host : {"127.0.0.1:8080", "127.0.0.1", "localhost", "LocalHost:8080"})
    EXPECT_TRUE(is_own_host(host, home, {})) << host;
  for (const char* host : {"", "attacker.example", "attacker.example:8080", "192.0.2.1", "localhost.example",
                           "127.0.0.1.example", "kitchen"})
    EXPECT_FALSE(is_own_host(host, home, {})) << host;
  EXPECT_TRUE(is_own_host("Kitchen:8080", home, {"kitchen"}));
  // Nobody can point a number elsewhere.
  for (const char* host : {"192.0.2.1:8080", "[2001:db8::1]:8080", "[2001:db8::1]", "localhost"})
    EXPECT_TRUE(is_own_host(host, everywhere, {})) << host;
  for (const char* host : {"attacker.example:8080", "192.0.2.1.example", "[attacker]", "192.0.2", ""})
    EXPECT_FALSE(is_own_host(host, everywhere, {})) << host;
}

TEST(Origin, KnowsItsOwnPages) {
  EXPECT_TRUE(is_own_origin("", true, "host:1"));
  EXPECT_TRUE(is_own_origin("http://host:1", false, "host:1"));
  EXPECT_TRUE(is_own_origin("https://HOST:1", true, "host:1"));
  for (const char* origin : {"null", "http://host:1", "https://host", "https://host:1/", "https://host:12"})
    EXPECT_FALSE(is_own_origin(origin, true, "host:1")) << origin;
}

}  // namespace
}  // namespace runnel::net::test
