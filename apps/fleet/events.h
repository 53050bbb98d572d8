// runnel fleet events: what a fleet has heard in one stream.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "services/fleet/nats/options.h"

namespace runnel::apps {

struct EventsCall {
  fleet::Wire::Settings nats;
  std::string stream, subject = "events", log = "RUNNEL_EVENTS";
  std::int64_t from = 1;  // 0: the first that is there
  bool follow = false;
};

// Prints each event of the stream once, in order, and where some are missing in all copies of the log a line
// that says so. Errors: those of the connection; io_error when some are missing, or do not come.
Status print_events(const EventsCall& call);

}  // namespace runnel::apps
