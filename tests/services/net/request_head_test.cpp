#include "services/net/request_head.h"

#include <gtest/gtest.h>

#include <string>

namespace runnel::net::test {
namespace {

using State = RequestHead::State;

// The state after each prefix of a request, which must be the same for bytes that come one by one and at
// once.
RequestHead looked(const std::string& text, State& state) {
  RequestHead whole;
  state = whole.look(text);
  RequestHead single;
  State last = State::more;
  for (std::size_t size = 0; size <= text.size() && last == State::more; ++size)
    last = single.look(std::string_view(text).substr(0, size));
  EXPECT_EQ(last, state) << text;
  return whole;
}

int status_of(const std::string& text) {
  State state{};
  const RequestHead head = looked(text, state);
  EXPECT_EQ(state == State::wrong, !head.fault().empty());
  return state == State::wrong ? head.status() : state == State::whole ? 200 : 0;
}

const std::string kGet = "GET / HTTP/1.1\r\nHost: a\r\n";

TEST(RequestHead, IsWhole) {
  State state{};
  EXPECT_EQ(looked(kGet + "\r\n", state).size(), kGet.size() + 2);
  EXPECT_EQ(state, State::whole);
  EXPECT_EQ(looked(kGet + "\r\nmore that follows", state).size(), kGet.size() + 2);
  const std::string post = "POST /login HTTP/1.1\r\nhost: a\r\nContent-Length:  5 \r\n\r\n";
  EXPECT_EQ(looked(post + "12345xyz", state).size(), post.size() + 5);
  EXPECT_EQ(looked(post + "1234", state).status(), 0);
  EXPECT_EQ(state, State::more) << "its body is missing";
  EXPECT_EQ(status_of("GET /a?b=c HTTP/1.0\r\n\r\n"), 200) << "the old version needs no Host";
  for (std::size_t size = 0; size < kGet.size() + 2; ++size)
    EXPECT_EQ(status_of((kGet + "\r\n").substr(0, size)), 0) << size;
}

TEST(RequestHead, IsStrict) {
  for (const char* begins : {"\x16\x03\x01", "get / HTTP/1.1\r\n\r\n", "\r\nGET / HTTP/1.1\r\n\r\n", " "})
    EXPECT_EQ(status_of(begins), 400) << begins;
  for (const char* line :
       {"GET /", "GET / HTTP/2.0", "GET HTTP/1.1", "GET  HTTP/1.1", "GET x HTTP/1.1", "GET / x HTTP/1.1",
        "GET /\x01 HTTP/1.1", "GET http://a/ HTTP/1.1", "G/T / HTTP/1.1"})
    EXPECT_EQ(status_of(std::string(line) + "\r\nHost: a\r\n\r\n"), 400) << line;
  for (const char* header : {"no colon", ": no name", "space : x", " folded: x", "x: \x01", "x: a\nb",
                             "x: a\rb", "Host: b", "HOST: b", "Content-Length: x", "Content-Length: -1",
                             "Content-Length:", "Content-Length: 1\r\nContent-Length: 1",
                             "Content-Length: 99999999999", "Authorization: a\r\nAuthorization: b"})
    EXPECT_EQ(status_of(kGet + header + "\r\n\r\n"), 400) << header;
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nx: y\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(status_of(kGet + "Transfer-Encoding: chunked\r\n\r\n"), 411);
  EXPECT_EQ(status_of(kGet + "Content-Length: 1025\r\n\r\n"), 413);
  EXPECT_EQ(status_of(kGet + "Content-Length: 1024\r\n\r\n" + std::string(1024, 'x')), 200);
  // A header of NUL would end texts of C.
  EXPECT_EQ(status_of(kGet + std::string("x: a\0b", 6) + "\r\n\r\n"), 400);
}

TEST(RequestHead, IsBounded) {
  EXPECT_EQ(status_of(kGet + "x: " + std::string(9000, 'y')), 431) << "before its end has come";
  const std::string fits = kGet + "x: " + std::string(8192 - kGet.size() - 7, 'y') + "\r\n\r\n";
  EXPECT_EQ(fits.size(), 8192U);
  EXPECT_EQ(status_of(fits), 200);
  EXPECT_EQ(status_of(kGet + "x: " + std::string(8192 - kGet.size() - 6, 'y') + "\r\n\r\n"), 431);
  std::string many = kGet;
  for (int i = 0; i < 63; ++i) many += "x: y\r\n";
  EXPECT_EQ(status_of(many + "\r\n"), 200);
  EXPECT_EQ(status_of(many + "x: y\r\n\r\n"), 431);
}

}  // namespace
}  // namespace runnel::net::test
