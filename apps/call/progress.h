// What a person sees while they wait: one line on stderr that is rewritten, and only on a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace runnel::apps {

// Whether stderr is a terminal that understands being rewritten (TERM is set and not "dumb").
bool stderr_is_terminal();

// The progress of stages. Nothing is written before two seconds have passed, nor control codes when stderr is
// not a terminal: then there is a line of text every 30 seconds. Not thread-safe.
class ProgressLine {
 public:
  ProgressLine() : ProgressLine(stderr_is_terminal()) {}
  explicit ProgressLine(bool terminal);
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `fraction` of the stage, 0 to 1; 0: unknown. An empty stage ends the line.
  void show(std::string_view stage, double fraction);
  // Clears the line; messages can follow.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  std::string stage_;
  Clock::time_point begun_, started_, printed_;
  bool terminal_, open_ = false;
};

// Shows that work goes on which has no measure of its own: "STAGE, 12 s". A thread writes while the object
// lives. The work itself must not write to stderr's line meanwhile: say() clears it.
class Patience {
 public:
  explicit Patience(std::string stage);
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  void wait(const std::string& stage);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

// Clears the line that is open on the terminal, if there is one; called before a message. Thread-safe.
void clear_progress();

}  // namespace runnel::apps
