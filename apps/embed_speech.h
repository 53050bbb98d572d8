// What decoders of speech take into a program in ROM: the tables of their files, and the models of a
// transducer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/support.h"
#include "decoding/host/search_tables.h"
#include "pipeline/host/text.h"

namespace runnel::apps {

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
// text become the names of their parts. Errors: those of the files, of parameters and of loading.
Result<EmbeddedSpeech> take_speech(pipeline::NodeText& node, const Model& recogniser,
                                   const ModelFlags& flags);

// Whether this parameter of such a node is in its tables.
bool is_in_tables(std::string_view parameter);

}  // namespace runnel::apps
