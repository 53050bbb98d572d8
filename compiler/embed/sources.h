// A model and its graph as C++ source for firmware: what `runnel embed` writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/model/model.h"

namespace runnel::compiler {

// A node of the device's graph, with all of its parameters as members of its class.
struct EmbeddedNode {
  std::string type;                       // "fbank"
  std::string class_name, header;         // "Fbank", "pipeline/nodes/spectrum/fbank.h"
  std::string input_kinds, output_kinds;  // numbers of pipeline::Kinds
  struct Member {
    std::string name, value;  // C++
  };
  std::vector<Member> members;
  std::string definitions;  // C++ that the members name
};

struct EmbeddedProgram {
  std::string name;    // an identifier of C
  std::string origin;  // the model's file name, for comments
  std::string target = "generic";
  std::string runnel_folder;     // runnel's source tree
  std::vector<std::byte> model;  // the .rnl file that goes to ROM, or the constants of a compiled model
  bool compiled = false;         // the model is compiled into one of the nodes
  struct Model {
    std::string name;  // an identifier of C
    std::vector<std::byte> file;
  };
  std::vector<Model> models;  // files that other nodes than the inference load by their names
  std::vector<std::string>
      operators;  // of the model files: kConv, ...; an application's own as custom_NAME_v1
  std::vector<std::string> labels;
  std::string sample_type = "int16";  // or float32
  std::int64_t sample_rate = 0;
  int channels = 1;
  std::int64_t hop = 0;
  std::vector<EmbeddedNode> nodes;
  int features_stage = -1, output_stage = -1;
  bool events = false;
  int event_room = 4;
  std::size_t memory_bytes = 0, fast_bytes = 0;
  std::string npu;        // that computes parts of the model; empty: none
  bool counters = false;  // the node of the inference has times by operator (embed/measure)
  int cores = 1;          // that its heavy operators are split for (embed/cores)
  bool passes = false;    // a part of the frames passes by the model
  std::uint32_t model_sum = 0;
  bool measured = false;  // memory_bytes is what the board took, not a bound
  // The model lies in a partition of its own: a profile is written instead of a program with a model.
  bool in_partition = false;
  std::array<std::uint8_t, 16> profile_id{};  // that images must have
};

struct EmbeddedFile {
  std::string path;  // below the folder
  std::string text;
};

// Names in ops:: of the operators that a model uses, each once, in order of use; with npu:: for segments of
// an Ethos-U. Error: unsupported for a code without a name.
Result<std::vector<std::string>> operator_symbols(const Model& model);
// The same text for the same program. Errors: invalid_argument for a name that is no identifier.
Result<std::vector<EmbeddedFile>> write_sources(const EmbeddedProgram& program);

// A literal of C++ with exactly this text or value.
std::string quoted(std::string_view text);

}  // namespace runnel::compiler
