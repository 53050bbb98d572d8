// From an address or a name of the catalogue to a model in the user's folder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "services/models/fetch/catalogue.h"

namespace runnel::models {

struct GetRequest {
  CatalogueEntry entry;
  std::filesystem::path folder;  // of the user's models
  bool again = false;            // replace a model that is there
  bool sandbox = true;           // import and check it in a locked child (services/sandbox); else here
  // Asked about each file that was fetched, with its signature beside it, before it is imported
  // (compiler/import/load.h).
  std::function<Status(const std::filesystem::path&, std::span<const std::byte>)> verify;
  // What happens, with the bytes of the file being fetched (0 of 0 outside of a transfer).
  std::function<void(std::string_view stage, std::uint64_t there, std::uint64_t all)> progress;
  const std::atomic<bool>* stop = nullptr;
};

struct GotModel {
  std::string path;                // of NAME/NAME.rnl
  bool was_there = false;          // nothing was fetched
  std::vector<std::string> notes;  // of the importer, the files' checksums, what was checked
};

// An entry for an address outside of the catalogue: NAME is that of the file unless `name` is given; its
// checksum is not known. Errors: invalid_argument.
Result<CatalogueEntry> entry_for_address(std::string_view address, std::string_view name);

// Fetches the files of the entry (for a manifest of microWakeWord from an address: also the model that it
// names), verifies their checksums and signatures (with `verify` also those of addresses outside of the
// catalogue: ADDRESS.sig), imports the first, checks the result as `runnel check` does, and puts
// NAME/NAME.rnl and its card into the folder. Whatever fails, the folder has the old model or none; pieces of
// a transfer are kept in `.fetched/NAME` for the next call. Errors: those of download(), of the importer,
// mismatch when the check fails, io_error.
Result<GotModel> get_model(const GetRequest& request);

}  // namespace runnel::models
