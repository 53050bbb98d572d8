// A PipeWire daemon of the test's own, in a temporary folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/beside.h"
#include "tests/support/data.h"

namespace runnel::bridges::test {

using runnel::test::Beside;
using runnel::test::soon;
using runnel::test::text_in;

// The environment of this process leads to this daemon, and streams make their own ports, which otherwise the
// session manager has them do. The graph has 16 kHz and cycles of half a second, which no busy machine misses
// often, and a sink `room` that plays to nobody.
class OwnPipeWire {
 public:
  // Freewheeling: as fast as it can, where the graph's streams wait for each other.
  explicit OwnPipeWire(bool freewheels = false);
  // Of a temporary folder, which others may use too.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] bool started();
  void kill();
  // Once more, after kill().
  void start();
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
