#include "inference/custom.h"

namespace runnel {
namespace {

Status not_one(std::string_view name, std::string_view expected) noexcept {
  return Status(Code::invalid_data) << "attribute \"" << name << "\" is not one " << expected;
}

}  // namespace

CustomAttributes::CustomAttributes(const fb::Operator& op) noexcept {
  if (const auto* const custom = op.options_as_CustomOptions(); custom != nullptr)
    attributes_ = custom->attributes();
  if (const auto* const delegate = op.options_as_DelegateOptions(); delegate != nullptr)
    attributes_ = delegate->attributes();
}

const fb::CustomAttribute* CustomAttributes::find(std::string_view name) const noexcept {
  if (attributes_ == nullptr) return nullptr;
  for (const fb::CustomAttribute* attribute : *attributes_) {
    if (std::string_view(attribute->name()->c_str(), attribute->name()->size()) == name) return attribute;
  }
  return nullptr;
}

Result<std::int64_t> CustomAttributes::integer(std::string_view name, std::int64_t fallback) const noexcept {
  if (!has(name)) return fallback;
  const auto values = integers(name);
  if (values.size() != 1) return not_one(name, "integer");
  return values[0];
}

Result<float> CustomAttributes::number(std::string_view name, float fallback) const noexcept {
  if (!has(name)) return fallback;
  const auto values = numbers(name);
  if (values.size() != 1) return not_one(name, "number");
  return values[0];
}

std::span<const std::int64_t> CustomAttributes::integers(std::string_view name) const noexcept {
  const fb::CustomAttribute* const found = find(name);
  if (found == nullptr || found->integers() == nullptr || found->integers()->size() == 0) return {};
  return {found->integers()->data(), found->integers()->size()};
}

std::span<const float> CustomAttributes::numbers(std::string_view name) const noexcept {
  const fb::CustomAttribute* const found = find(name);
  if (found == nullptr || found->numbers() == nullptr) return {};
  return {found->numbers()->data(), found->numbers()->size()};
}

std::string_view CustomAttributes::text(std::string_view name) const noexcept {
  const fb::CustomAttribute* const found = find(name);
  if (found == nullptr || found->text() == nullptr) return {};
  return {found->text()->c_str(), found->text()->size()};
}

}  // namespace runnel
