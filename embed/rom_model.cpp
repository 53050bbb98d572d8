// Model files in ROM.
#include <new>
#include <optional>

#include "embed/program.h"

namespace runnel::embed {
namespace {

// Loads the model of a program for every name.
class RomModel final : public ModelLoader {
 public:
  explicit RomModel(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  Result<const Model*> load(std::string_view) noexcept override {
    if (!model_) {
      RUNNEL_ASSIGN(model_, Model::open(bytes_));
    }
    return static_cast<const Model*>(&*model_);
  }

 private:
  std::span<const std::byte> bytes_;
  std::optional<Model> model_;
};

}  // namespace

ModelLoader* rom_loader(Memory& memory, const runnel_program& program) noexcept {
  void* at = memory.allocate(sizeof(RomModel), alignof(RomModel));
  return at == nullptr ? nullptr : new (at) RomModel(program.model.bytes());
}

}  // namespace runnel::embed
