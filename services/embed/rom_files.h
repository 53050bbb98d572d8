// Models as the files that go to ROM.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/model/model.h"
#include "services/embed/speech.h"

namespace runnel::embedding {

struct RomParts {
  bool vectors = false, names = false;               // are kept
  const std::vector<std::string>* labels = nullptr;  // instead of the model's; null: those
};

// The model without the parts that only hosts read. Errors: those of the writer.
Result<std::vector<std::byte>> rom_model(const Model& model, const RomParts& parts);

// Symbols of the operators of the model files, each once: of the recogniser (null: it is compiled), and of
// the parts of its decoder. Error: unsupported for an operator without a symbol.
Result<std::vector<std::string>> operators_of(const Model* recogniser, const EmbeddedSpeech& decoder);

}  // namespace runnel::embedding
