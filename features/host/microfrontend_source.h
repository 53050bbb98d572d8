// Writes the fixed-point front end's tables as C++, for programs that keep them in
// flash memory (features/microfrontend/microfrontend_tables.h).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "features/microfrontend/microfrontend_options.h"

namespace runnel::features {

// A struct `name` with kOptions and kTables, the MicrofrontendTables of these options; include
// features/microfrontend/microfrontend_tables.h before it. Its numbers are those that
// Microfrontend::make(options) computes on every machine. Errors: those of Microfrontend::make().
Result<std::string> microfrontend_source(const MicrofrontendOptions& options, std::string_view name);

}  // namespace runnel::features
