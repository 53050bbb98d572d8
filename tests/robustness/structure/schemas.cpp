#include "tests/robustness/structure/schemas.h"

#include <string>

#include "espdl_bfbs_generated.h"
#include "model_bfbs_generated.h"
#include "pte_bfbs_generated.h"
#include "tflite_bfbs_generated.h"

namespace runnel::test::flat {
namespace {

const reflection::Object* object(const reflection::Schema& schema, std::string_view name) {
  for (const reflection::Object* object : *schema.objects()) {
    if (object->name()->string_view() == name) return object;
  }
  return nullptr;
}

// A section of a model file is a FlatBuffer of the kind that it names (inference/model/model.fbs).
const reflection::Object* section(const reflection::Schema& schema, const Table& owner,
                                  std::string_view field) {
  static constexpr std::string_view kTables[] = {"",         "Graph",   "",         "StreamPlan", "Names",
                                                 "Pipeline", "Vectors", "Metadata", "Arenas"};
  if (owner.type->name()->string_view() != "runnel.fb.Section" || field != "data") return nullptr;
  for (const Slot& slot : owner.slots) {
    if (slot.field->name()->string_view() != "kind") continue;
    const auto* const kind = std::get_if<Inline>(&slot.value);
    const std::size_t number =
        kind == nullptr || kind->bytes.empty() ? 0 : std::to_integer<std::size_t>(kind->bytes[0]);
    if (number >= std::size(kTables) || kTables[number].empty()) return nullptr;
    return object(schema, "runnel.fb." + std::string(kTables[number]));
  }
  return nullptr;
}

template <class Embedded>
Format format_of(std::string_view root = {}, Nested nested = nullptr) {
  const reflection::Schema* const schema = reflection::GetSchema(Embedded::data());
  return {schema, root.empty() ? schema->root_table() : object(*schema, root), nested};
}

}  // namespace

const Format& rnl_format() {
  static const Format format = format_of<fb::ModelBinarySchema>({}, section);
  return format;
}
const Format& tflite_format() {
  static const Format format = format_of<tflite::ModelBinarySchema>();
  return format;
}
const Format& espdl_format() {
  static const Format format = format_of<espdl::ModelBinarySchema>();
  return format;
}
const Format& pte_format() {
  static const Format format = format_of<pte::ProgramBinarySchema>();
  return format;
}
const Format& bundle_format() {
  static const Format format = format_of<pte::ProgramBinarySchema>("runnel.pte.BundledProgram");
  return format;
}

}  // namespace runnel::test::flat
