#include "services/net/access/rights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

namespace runnel::net::test {
namespace {

TEST(Rights, AreNotGivenToRootNorToStrangers) {
  EXPECT_NE(become_user("root").text().find("another user than root"), std::string_view::npos);
  EXPECT_NE(become_user("there-is-no-such-user").text().find("there is none"), std::string_view::npos);
}

// In a process of its own, because there is no way back.
TEST(Rights, AreGivenUpForGood) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED WITHOUT ROOT'S RIGHTS: only root can become another user";
  const pid_t child = fork();
  if (child == 0) {
    if (!become_user("nobody").ok()) _exit(1);
    if (geteuid() == 0 || getegid() == 0 || setuid(0) == 0 || seteuid(0) == 0) _exit(2);
    gid_t groups[64];
    const int count = getgroups(64, groups);
    for (int i = 0; i < count; ++i) {
      if (groups[i] == 0) _exit(3);
    }
    if (open("/etc/shadow", 0) >= 0) _exit(4);
    if (!become_user("nobody").ok()) _exit(5);  // it is this user already
    if (become_user("daemon").ok()) _exit(6);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace runnel::net::test
