// Short recordings in the containers whose chunks structure/chunks.cpp knows, and in some encodings.
#pragma once

#include <string>
#include <vector>

#include "tests/robustness/structure/random.h"

namespace runnel::test {

struct Recording {
  std::string name;  // "pcm16.w64"
  Bytes file;
};
// As libsndfile writes them; what it cannot write is left out.
std::vector<Recording> recordings();

}  // namespace runnel::test
