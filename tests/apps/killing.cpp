#include "tests/apps/killing.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/support/data.h"

namespace runnel::apps::test {

bool run_and_kill(std::vector<std::string> arguments, std::chrono::microseconds after) {
  arguments.insert(arguments.begin(), runnel::test::program());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", 1 /* O_WRONLY */, 0);
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, pointers[0], &files, nullptr, pointers.data(), environ), 0);
  posix_spawn_file_actions_destroy(&files);
  std::this_thread::sleep_for(after);
  kill(child, SIGKILL);
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state);
}

}  // namespace runnel::apps::test
