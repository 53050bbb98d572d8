// The line of progress on a terminal: one thread rewrites it while others say something. Under
// ThreadSanitizer this is what looks at them.
#include "apps/call/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/host/joined_thread.h"

namespace runnel::apps {
namespace {

// A pseudo terminal as this program's stderr; what is written there can be read at the other end.
class ProgressOnATerminal : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TERM", "xterm", 1);
    ASSERT_EQ(openpty(&reader_, &terminal_, nullptr, nullptr, nullptr), 0);
    std::fflush(stderr);
    kept_ = dup(STDERR_FILENO);
    ASSERT_GE(kept_, 0);
    ASSERT_GE(dup2(terminal_, STDERR_FILENO), 0);
  }
  void TearDown() override { give_back(); }
  // From here on stderr is what it was before.
  void give_back() {
    if (kept_ < 0) return;
    std::fflush(stderr);
    dup2(kept_, STDERR_FILENO);
    close(std::exchange(kept_, -1));
    close(std::exchange(terminal_, -1));
  }
  // What the terminal shows, until this text comes.
  std::string until(const std::string& text) const {
    std::string all;
    std::array<char, 256> some{};
    while (all.find(text) == std::string::npos) {
      const ssize_t got = read(reader_, some.data(), some.size());
      if (got <= 0) break;
      all.append(some.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  int reader_ = -1, terminal_ = -1, kept_ = -1;
};

TEST_F(ProgressOnATerminal, IsRewrittenAndTakenAwayWhileOthersTalk) {
  ASSERT_TRUE(stderr_is_terminal());
  std::atomic<bool> shown{false};
  std::string seen;
  {
    const Patience patience("waiting for a test");
    std::vector<JoinedThread> talkers;
    for (int i = 0; i < 3; ++i)
      talkers.emplace_back([&] {
        while (!shown) clear_progress();
      });
    // It comes after its two seconds of patience, and then again, with the next half second.
    seen = until("runnel: waiting for a test, ");
    seen += until("runnel: waiting for a test, ");
    shown = true;
  }
  EXPECT_NE(seen.find("\033[K"), std::string::npos) << "the line is cleared before it is written";
  give_back();
}

TEST_F(ProgressOnATerminal, EndsWithTheWorkHoweverShort) {
  for (int i = 0; i < 100; ++i) const Patience patience("quick work");
  std::fputs("end", stderr);
  std::fflush(stderr);
  EXPECT_NE(until("end").find("end"), std::string::npos);
}

}  // namespace
}  // namespace runnel::apps
