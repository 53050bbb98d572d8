// What decoders of speech take into a program in ROM: the tables of their files, and the models of a
// transducer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/load.h"
#include "decoding/host/search_tables.h"
#include "pipeline/host/text.h"

namespace runnel::embedding {

// Loads a model, by name or file; what its importer notes goes to `say`. Errors: those of load_model().
Result<std::shared_ptr<const OwnedModel>> load_noted(const std::string& model,
                                                     const compiler::LoadOptions& options,
                                                     const std::function<void(std::string_view)>& say);

struct EmbeddedSpeech {
  // A model of a transducer, under the name that its node uses in ROM.
  struct Part {
    std::string name;  // joiner, decoder
    std::shared_ptr<const OwnedModel> model;
  };
  std::shared_ptr<const decoding::OwnedSearchTables> tables;  // null: the node is no decoder of speech
  std::vector<Part> parts;
};

// Reads what `node` names, with the labels and classes of the recogniser or encoder. Paths of models in the
// text become the names of their parts. Of `load`, which the recogniser was read with, parts take only what
// is not about a single file. Errors: those of the files, of parameters and of loading.
Result<EmbeddedSpeech> take_speech(pipeline::NodeText& node, const Model& recogniser,
                                   const compiler::LoadOptions& load,
                                   const std::function<void(std::string_view)>& say);

// Whether this parameter of such a node is in its tables.
bool is_in_tables(std::string_view parameter);

}  // namespace runnel::embedding
