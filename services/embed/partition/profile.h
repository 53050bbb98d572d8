// What models in partitions share: nodes, operators and sizes of the program that they run in, also as a file
// (NAME.profile.json) that later images are made for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/embed/sources.h"
#include "compiler/import/load.h"
#include "services/embed/embed_model.h"
#include "services/embed/program_plan.h"

namespace runnel::embedding {

using ProfileId = std::array<std::uint8_t, 16>;

struct Profile {
  ProfileId id{};
  int program_version = 0, profile_version = 0;
  std::string name, target, samples;
  std::string front_end, decision;  // as the request had them; empty: those of the model
  int sample_rate = 0, channels = 0, events = 0;
  std::int64_t hop = 0;
  std::size_t memory_bytes = 0, fast_bytes = 0;
  bool counters = false;  // by operator
  int cores = 1;          // that heavy operators are split for
  std::vector<std::string> operators;
  struct Node {
    std::string type;
    std::string id;  // digest of its settings, as hexadecimal digits
  };
  std::vector<Node> nodes;
};

// A model with what a program around it is.
struct PartitionModel {
  ProgramPlan plan;
  std::string file;  // stem of the names of its files
  std::size_t memory_bytes = 0;
};

// Plans the request's model, whose labels go into its own file. Errors: those of plan_program(); unsupported
// for a model with parts for an NPU or further models.
Result<PartitionModel> plan_partition(const EmbedRequest& request, const compiler::LoadOptions& load);

// Plans all models of the request, and gives the program that has the operators and the memory of all of
// them, without profile_id. Errors: also mismatch for models whose front end, decision or samples differ, and
// invalid_argument for two of one name.
Result<compiler::EmbeddedProgram> plan_profile(const EmbedRequest& request, const compiler::LoadOptions& load,
                                               std::vector<PartitionModel>& models);

Profile profile_of(const compiler::EmbeddedProgram& program, const EmbedRequest& request);
std::string text_of(const Profile& profile);
// Errors: not_found; invalid_data and unsupported, naming the file.
Result<Profile> read_profile(const std::string& path);

// Whether the model runs in the profile. Errors, naming what differs or is missing: unsupported for
// operators, out_of_memory, mismatch for nodes and samples.
Status check_fits(const PartitionModel& model, const Profile& profile);

}  // namespace runnel::embedding
