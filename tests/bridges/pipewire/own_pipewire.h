// A PipeWire daemon of the test's own, in a temporary folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/data.h"

namespace runnel::bridges::test {

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

// The environment of this process leads to this daemon, and streams make their own ports, which otherwise the
// session manager has them do. The graph has 16 kHz and cycles of half a second, which no busy machine misses
// often, and a sink `room` that plays to nobody.
class OwnPipeWire {
 public:
  OwnPipeWire();
  // Of a temporary folder, which others may use too.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] bool started();
  void kill();
  // The ports, or links with -l, as pw-link prints them.
  static std::string ports(const std::string& options = "-io");
  // Whether the ports exist in the end, and the link could be made, or removed.
  static bool link(const std::string& from, const std::string& to);
  static bool unlink(const std::string& from, const std::string& to);

 private:
  runnel::test::TemporaryFolder folder_;
  std::unique_ptr<Beside> daemon_;
};

}  // namespace runnel::bridges::test
