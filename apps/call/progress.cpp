#include "apps/call/progress.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace runnel::apps {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kBetween{200};
constexpr std::chrono::seconds kBetweenLines{30};

// Whether a line is open on the terminal, and what guards it.
std::mutex open_mutex;
bool line_is_open = false;

void rewrite(const std::string& text) {
  const std::lock_guard lock(open_mutex);
  std::fprintf(stderr, "\rrunnel: %s\033[K", text.c_str());
  line_is_open = true;
}

std::string seconds_of(std::chrono::steady_clock::duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

bool stderr_is_terminal() {
  const char* const term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb" && *term != '\0';
}

void clear_progress() {
  const std::lock_guard lock(open_mutex);
  if (line_is_open) std::fputs("\r\033[K", stderr);
  line_is_open = false;
}

ProgressLine::ProgressLine(bool terminal)
    : begun_(Clock::now()), started_(begun_), printed_(begun_), terminal_(terminal) {}

void ProgressLine::show(std::string_view stage, double fraction) {
  if (stage.empty()) return end();
  const auto now = Clock::now();
  const bool other = stage != stage_;
  if (other) {
    stage_ = stage;
    started_ = now;
  }
  if (now - begun_ < kPatience) return;
  if (terminal_ ? !other && now - printed_ < kBetween : now - printed_ < kBetweenLines) return;
  printed_ = now;
  std::string text = stage_;
  if (fraction > 0.02) {
    const double spent = std::chrono::duration<double>(now - started_).count();
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, " %3.0f %%, %.0f s left", 100 * fraction,
                  spent * (1 - fraction) / fraction);
    text += numbers;
  } else {
    text += ", " + seconds_of(now - started_);
  }
  if (!terminal_) {
    std::fprintf(stderr, "runnel: %s\n", text.c_str());
    return;
  }
  rewrite(text);
  open_ = true;
}

void ProgressLine::end() {
  if (open_) clear_progress();
  open_ = false;
}

Patience::Patience(std::string stage) {
  if (stderr_is_terminal()) thread_ = std::thread([this, text = std::move(stage)] { wait(text); });
}

void Patience::wait(const std::string& stage) {
  const auto begun = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  auto pause = std::chrono::milliseconds(kPatience);
  while (!wake_.wait_for(lock, pause, [this] { return ended_; })) {
    rewrite(stage + ", " + seconds_of(std::chrono::steady_clock::now() - begun));
    pause = std::chrono::milliseconds(500);
  }
}

Patience::~Patience() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
  clear_progress();
}

}  // namespace runnel::apps
