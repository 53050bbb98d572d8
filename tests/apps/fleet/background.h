// The program in the background; what it says goes into a file.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

extern char** environ;

namespace runnel::apps::test {

class Background {
 public:
  Background(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
    std::vector<std::string> words = {std::getenv("RUNNEL_PROGRAM")};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    EXPECT_EQ(::posix_spawn(&process_, pointers[0], &files, nullptr, pointers.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
  }
  ~Background() { end(SIGKILL); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }
  void signal(int number) const { ::kill(process_, number); }
  // Its exit code after this signal, which also reaches one that was stopped; -1 where the signal ended it.
  int end(int number) {
    if (process_ <= 0) return -1;
    ::kill(process_, SIGCONT);
    ::kill(process_, number);
    return wait();
  }
  // Its exit code once it has ended by itself; -1 after a signal.
  int wait() {
    if (process_ <= 0) return -1;
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_ = -1;
};

}  // namespace runnel::apps::test
