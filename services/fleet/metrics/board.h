// What a worker reports to those who watch a fleet, readable from any thread: for itself, and of the fleet
// what it knows.
#pragma once

#include <mutex>
#include <string>

#include "pipeline/host/step_times.h"
#include "services/fleet/work/worker.h"

namespace runnel::fleet {

struct WorkerReport {
  std::string worker;
  WorkerFacts facts;
  // Of chunks, in seconds: from their arrival to the end of the step that heard them, since the start.
  double lateness_p50 = 0, lateness_p99 = 0, lateness_largest = 0;
  bool connected = false;
  std::uint64_t sent_bytes = 0;  // data of messages
};

// In the text format of Prometheus, version 0.0.4. The names are in docs/fleet.md.
std::string prometheus_of(const WorkerReport& report);
// A document for people, which loads itself anew every two seconds.
std::string document_of(const WorkerReport& report);

// Thread-safe.
class WorkerBoard {
 public:
  void write(WorkerReport report) {
    const std::lock_guard lock(mutex_);
    report_ = std::move(report);
  }
  [[nodiscard]] WorkerReport read() const {
    const std::lock_guard lock(mutex_);
    return report_;
  }

 private:
  mutable std::mutex mutex_;
  WorkerReport report_;
};

// Lateness since the start, of one thread.
class Lateness {
 public:
  void add(Worker& worker) {
    for (const Time one : worker.take_lateness()) times_.add(one.count());
  }
  void tell(WorkerReport& report) const {
    report.lateness_p50 = 1e-6 * times_.quantile(0.5);
    report.lateness_p99 = 1e-6 * times_.quantile(0.99);
    report.lateness_largest = 1e-6 * times_.largest();
  }

 private:
  pipeline::StepTimes times_;
};

}  // namespace runnel::fleet
