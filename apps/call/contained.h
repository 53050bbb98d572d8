// Reading files that nobody vouches for: the options of limits and of the sandbox, and the work in a child.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "base/status.h"
#include "compiler/import/load.h"

namespace runnel::apps {

struct Containment {
  bool sandbox = false;
  std::optional<int> max_memory, max_seconds;  // MiB, s; 0: no limit

  // Whether the call itself sets a limit.
  [[nodiscard]] bool limited() const { return max_memory.has_value() || max_seconds.has_value(); }
};

// Adds --max-memory and --max-seconds.
void add_limits(Verb verb, Containment& containment);
// The same and --sandbox.
void add_containment(Verb verb, Containment& containment);

// Whether the file is small enough to have limits where the call sets none.
bool has_limits_of_its_own(const std::string& model);

struct ContainedFiles {
  std::string model;                          // path or name
  std::vector<std::filesystem::path> opened;  // others that the work reads by name
  std::string doing;                          // "importing", for people who wait; empty: nothing is shown
};

// Does the work in a child where the call or the size of the files asks for it, else here. The work gets the
// options for where it runs, which find the model without looking for it. Errors: those of sandbox::run(), of
// the work, and of finding the model.
using ContainedWork = std::function<Result<std::vector<std::byte>>(const compiler::LoadOptions& inside)>;
Result<std::vector<std::byte>> contained(const Containment& containment, const ContainedFiles& files,
                                         const compiler::LoadOptions& options, const ContainedWork& work);

// Loads a model and prints its notes.
Result<std::shared_ptr<const OwnedModel>> load_noted(const std::string& path,
                                                     const compiler::LoadOptions& options);

// Bytes of a child as one line of text.
std::string printable_json(std::span<const std::byte> bytes);

}  // namespace runnel::apps
