#include "services/embed/embed_model.h"

namespace runnel::embedding {

std::string source_folder() { return RUNNEL_SOURCE_FOLDER; }

}  // namespace runnel::embedding
