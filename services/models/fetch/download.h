// A file from the network: fetched with progress, resumed where an earlier attempt ended, verified, and only
// then under its name.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/status.h"

namespace runnel::models {

struct Download {
  std::string address;  // http:// or https://
  std::string file;     // where it goes; its folder exists
  std::string sha256;   // in 64 hexadecimal digits; empty: unknown, nothing is verified
  std::uint64_t most_bytes = limits::kDownloadBytes;
  // Called a few times per second with the bytes that are there and the bytes that will be (0: unknown).
  std::function<void(std::uint64_t there, std::uint64_t all)> progress;
  const std::atomic<bool>* stop = nullptr;  // set: the download ends, and can be resumed
};

// Whether this build knows libcurl and this machine has it. Errors: unsupported, not_found.
Status can_download();

// Fetches the file. What arrives is FILE.part; a FILE.part of an earlier call is continued, and fetched anew
// when the server cannot continue it or the whole does not have the expected checksum. Redirections are
// followed, to http and https only. Errors name the address and what failed: io_error for the network and the
// disk, not_found when the server does not have it, mismatch for another checksum (FILE.part is then
// removed), invalid_data beyond `most_bytes`. Blocks; not from two threads for the same file.
Status download(const Download& what);

// The SHA-256 of a file in hexadecimal digits. Errors: io_error; unsupported or not_found without mbedTLS.
Result<std::string> sha256_of_file(const std::string& file);

}  // namespace runnel::models
