#include "services/serve/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>
namespace runnel::serve {

namespace {
std::int64_t steady_seconds() noexcept {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
}  // namespace

bool SessionBoard::wanted() const noexcept {
  return steady_seconds() - read_.load(std::memory_order_relaxed) <= kInterest;
}

void SessionBoard::write(std::size_t thread, std::vector<SessionRow> rows) {
  const std::lock_guard lock(mutex_);
  if (rows_.size() <= thread) rows_.resize(thread + 1);
  rows_[thread] = std::move(rows);
}

std::vector<SessionRow> SessionBoard::read(std::size_t most) const {
  read_.store(steady_seconds(), std::memory_order_relaxed);
  std::vector<SessionRow> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& rows : rows_) all.insert(all.end(), rows.begin(), rows.end());
  }
  std::sort(all.begin(), all.end(),
            [](const SessionRow& a, const SessionRow& b) { return a.connected > b.connected; });
  if (all.size() > most) all.resize(most);
  return all;
}
namespace {

constexpr std::array<std::string_view, kReasons> kNames = {"busy",     "overload", "token", "rate",
                                                           "greeting", "data",     "idle",  "slow_reader",
                                                           "gone",     "shutdown", "failed"};

class Page {
 public:
  void begin(const char* name, const char* type, const char* help) {
    text_ +=
        std::string("# HELP runnel_") + name + ' ' + help + "\n# TYPE runnel_" + name + ' ' + type + '\n';
  }
  void value(const std::string& name, double number) {
    char digits[64];
    std::snprintf(digits, sizeof digits, " %.17g\n", number);
    text_ += "runnel_" + name + digits;
  }
  template <class T>
  void one(const char* name, const char* type, const char* help, const T& number) {
    begin(name, type, help);
    value(name, static_cast<double>(number));
  }
  void quantiles(const char* name, const char* help, const Metrics& metrics,
                 Metrics::Quantiles Metrics::Times::*of) {
    begin(name, "gauge", help);
    for (int i = 0; i < metrics.threads; ++i) {
      const Metrics::Quantiles& from = metrics.times[static_cast<std::size_t>(i)].*of;
      const std::string begin_of_labels =
          std::string(name) + "{thread=\"" + std::to_string(i) + "\",quantile=\"";
      value(begin_of_labels + "0.5\"}", from.p50);
      value(begin_of_labels + "0.99\"}", from.p99);
      value(begin_of_labels + "1\"}", from.largest);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string_view name_of(Reason reason) noexcept { return kNames[static_cast<std::size_t>(reason)]; }

std::string Metrics::prometheus(int max_streams) const {
  Page page;
  page.one("streams", "gauge", "Streams now.", streams.load());
  page.one("streams_limit", "gauge", "Streams that are admitted at most.", max_streams);
  page.one("streams_most", "gauge", "Most streams at a time so far.", most_streams.load());
  page.one("connections", "gauge", "Open connections.", connections.load());
  page.one("connections_accepted_total", "counter", "Connections accepted.", accepted.load());
  page.one("streams_begun_total", "counter", "Streams admitted.", begun.load());
  page.one("streams_completed_total", "counter", "Streams that came to their end.", completed.load());
  page.begin("connections_ended_total", "counter", "Connections refused or cut, by reason.");
  for (std::size_t i = 0; i < kReasons; ++i)
    page.value("connections_ended_total{reason=\"" + std::string(kNames[i]) + "\"}",
               static_cast<double>(ended[i].load()));
  page.one("received_bytes_total", "counter", "Bytes received.", bytes.load());
  page.one("audio_seconds_total", "counter", "Seconds of sound processed.",
           static_cast<double>(microseconds.load()) * 1e-6);
  page.one("events_total", "counter", "Events sent.", events.load());
  page.one("steps_total", "counter", "Steps taken.", steps.load());
  page.quantiles("step_seconds", "Time of a step of all ready streams, since the start.", *this,
                 &Times::step);
  page.quantiles("lateness_seconds",
                 "Time from the arrival of samples to the end of the step that took them, since the start.",
                 *this, &Times::lateness);
  page.one("processor_seconds_total", "counter", "Processor time of the program.", processor_seconds());
  page.one("resident_bytes", "gauge", "Memory of the program.", static_cast<double>(resident_bytes()));
  return page.take();
}

double processor_seconds() noexcept {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::int64_t resident_bytes() noexcept {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long long size = 0, resident = 0;
  if (std::fscanf(file, "%lld %lld", &size, &resident) != 2) resident = 0;
  std::fclose(file);
  return static_cast<std::int64_t>(resident) * sysconf(_SC_PAGESIZE);
}

}  // namespace runnel::serve
