#include "library/models.h"

#include <algorithm>
#include <new>

namespace runnel::library {
namespace {

// The options that nodes set; the others keep their defaults.
bool same(const PrepareOptions& a, const PrepareOptions& b) noexcept {
  return a.mode == b.mode && a.frames == b.frames && a.least == b.least && a.most == b.most &&
         a.isa == b.isa && a.slack == b.slack && a.fast_bytes == b.fast_bytes;
}

}  // namespace

Status Models::add(const std::string& name, std::span<const std::byte> bytes, const crypto::Key* key) {
  RUNNEL_ASSIGN(auto owned, OwnedModel::from_bytes(bytes, {}, key));
  const std::lock_guard lock(mutex_);
  by_name_[name] = &owned->model();
  added_[name] = std::move(owned);
  return {};
}

Result<const Model*> Models::load(std::string_view name) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    }
    RUNNEL_ASSIGN(const Model* const model, files_.load(name));
    const std::lock_guard lock(mutex_);
    by_name_.emplace(name, model);
    return model;
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory) << name << ": no memory for the model";
  }
}

Result<const Prepared*> Models::prepare(const Model& model, OperatorTable operators,
                                        const PrepareOptions& options) {
  const std::lock_guard lock(mutex_);
  for (const auto& shared : shared_) {
    if (shared->model == &model && same(shared->options, options)) return shared->prepared;
  }
  auto made = std::make_unique<Shared>();
  made->model = &model;
  made->options = options;
  RUNNEL_ASSIGN(made->prepared, Prepared::make(model, operators, options, made->memory));
  shared_.push_back(std::move(made));
  return shared_.back()->prepared;
}

std::vector<const Model*> Models::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Model*> models;
  for (const auto& [name, model] : by_name_) {
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
  }
  return models;
}

std::size_t Models::bytes() const {
  std::size_t total = 0;
  for (const Model* const model : loaded()) total += model->bytes().size();
  return total;
}

}  // namespace runnel::library
