// Writes a front end's tables as C++, for programs that keep them in flash memory
// (features/fbank/fbank_tables.h).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "features/fbank/fbank_options.h"

namespace runnel::features {

// A struct `name` with kOptions, kFloats, kIntegers and kTables, the FbankTables of these options; include
// features/fbank/fbank_tables.h before it. Its bytes are those that Fbank::make(options) computes on every
// machine with one filter at a time. Errors: those of Fbank::make(); invalid_argument for fft=fftw and for
// options that hold a whole recording (log_max=global).
Result<std::string> fbank_source(const FbankOptions& options, std::string_view name);

}  // namespace runnel::features
