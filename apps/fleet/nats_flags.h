// The options of all verbs that talk to NATS servers.
#pragma once

#include <string>

#include "apps/command_line.h"
#include "services/fleet/nats/options.h"

namespace runnel::apps {

// --credentials, --user, --ca, ...; `settings` outlives the call.
inline void add_nats_flags(Verb verb, fleet::Wire::Settings& settings) {
  for (const fleet::NatsOption& option : fleet::kNatsOptions)
    verb.option("--" + std::string(option.name), settings.*option.value, option.help);
}

}  // namespace runnel::apps
