// Several model files in ROM. A file of its own, so that programs with one model do not link it.
#include <new>
#include <optional>
#include <string_view>

#include "embed/program.h"

namespace runnel::embed {
namespace {

using MaybeModel = std::optional<Model>;

class RomModels final : public ModelLoader {
 public:
  // `opened`: one for each named model, and one for that of the program.
  RomModels(const runnel_program& program, std::span<MaybeModel> opened) noexcept
      : program_(program), opened_(opened) {}

  Result<const Model*> load(std::string_view name) noexcept override {
    const std::span<const NamedModel> named = program_.models;
    std::size_t at = 0;
    while (at < named.size() && name != named[at].name) ++at;
    if (at == named.size() && program_.compiled)
      return Status(Code::not_found) << "the program has no model \"" << name << '"';
    MaybeModel& model = opened_[at];
    if (!model) {
      const RomBytes& file = at < named.size() ? named[at].file : program_.model;
      RUNNEL_ASSIGN(model, Model::open(file.bytes()));
    }
    return static_cast<const Model*>(&*model);
  }

 private:
  const runnel_program& program_;
  std::span<MaybeModel> opened_;
};

}  // namespace

ModelLoader* rom_models_loader(Memory& memory, const runnel_program& program) noexcept {
  const std::size_t count = program.models.size() + 1;
  void* at = memory.allocate(sizeof(RomModels), alignof(RomModels));
  auto* const opened =
      static_cast<MaybeModel*>(memory.allocate(count * sizeof(MaybeModel), alignof(MaybeModel)));
  if (at == nullptr || opened == nullptr) return nullptr;
  for (std::size_t i = 0; i < count; ++i) new (opened + i) MaybeModel();
  return new (at) RomModels(program, {opened, count});
}

}  // namespace runnel::embed
