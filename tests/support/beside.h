// Programs that run beside a test, and waiting for what they do.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace runnel::test {

// A program that runs beside the test; ended by the destructor.
class Beside {
 public:
  // Its outputs go to the files.
  Beside(const std::vector<std::string>& call, const std::filesystem::path& out,
         const std::filesystem::path& err);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  void signal(int number) const;
  // Its exit code, 128 + signal after one. Fails the test after a minute.
  int wait();
  [[nodiscard]] bool runs();

 private:
  pid_t process_ = -1;
  int code_ = -1;
};

// Waits until it is true, at most for half a minute: then false.
bool soon(const std::function<bool()>& condition);

std::string text_in(const std::filesystem::path& file);

}  // namespace runnel::test
