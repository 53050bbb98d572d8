// All constants of a search: made on a host (decoding/host/search_tables.h), or in flash.
#pragma once

#include "decoding/hotwords.h"
#include "decoding/vocabulary.h"
#include "decoding/word_graph.h"

namespace runnel::decoding {

struct SearchTables {
  Vocabulary vocabulary;
  WordGraph graph;    // without nodes: any sequence of tokens
  Hotwords hotwords;  // without states: none
};

}  // namespace runnel::decoding
