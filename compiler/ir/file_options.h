// Options of operators between a model file and the graph (compiler/ir/graph.h).
#pragma once

#include <flatbuffers/flatbuffers.h>

#include "compiler/ir/graph.h"
#include "inference/model/model.h"

namespace runnel::compiler {

// The options of an operator of a file that Model::open has accepted.
Options read_options(const fb::Operator& op);

struct WrittenOptions {
  fb::Options type = fb::Options::NONE;
  flatbuffers::Offset<void> value;
};
// Adds them to the file that `builder` makes.
WrittenOptions write_options(flatbuffers::FlatBufferBuilder& builder, const Options& options);

}  // namespace runnel::compiler
