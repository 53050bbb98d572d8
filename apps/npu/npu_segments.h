// Shared by the verbs of runnel npu that read one file.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/support.h"
#include "npu/host/segment.h"

namespace runnel::apps {

// A file and its segments, which point into it.
struct NpuSegments {
  std::vector<std::byte> bytes;
  std::shared_ptr<const OwnedModel> model;
  std::vector<std::pair<std::string, npu::Segment>>
      list;  // with their names; each segment is followed by the program that steps it, if there is one
};

// A model of any kind with parts for the Ethos-U, a driver payload, or a Vela stream.
Result<NpuSegments> load_npu_segments(const std::string& name_or_path, const ModelFlags& flags);

struct NpuFileCall {
  std::string file;
  ModelFlags flags;
  bool json = false;
};
Verb add_npu_file_verb(Verb parent, const char* name, const char* help,
                       const std::shared_ptr<NpuFileCall>& call);

void add_npu_estimate(Verb npu, int& exit_code);
void add_npu_compare(Verb npu, int& exit_code);
void add_npu_dump(Verb npu, int& exit_code);
void add_npu_regions(Verb npu, int& exit_code);

}  // namespace runnel::apps
