#include "inference/host/engine.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "base/host/out_of_memory.h"
#include "inference/host/encrypted_model.h"

namespace runnel {
namespace fs = std::filesystem;

Result<std::vector<std::byte>> read_whole_file(const fs::path& path, std::size_t limit) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Status(Code::not_found) << path.string() << ": no such file";
  if (!fs::is_regular_file(status)) return Status(Code::io_error) << path.string() << ": not a regular file";
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return Status(Code::io_error) << path.string() << ": " << error.message();
  if (size > limit)
    return Status(Code::invalid_data)
           << path.string() << ": " << size << " bytes, expected at most " << limit;
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  const bool whole = in && in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (in.eof() && errno == 0)
    return Status(Code::io_error) << path.string() << ": ends after " << in.gcount() << " of " << size
                                  << " bytes: it was changed while it was read";
  if (!whole) return Status(Code::io_error) << path.string() << ": cannot be read: " << std::strerror(errno);
  // Who writes it may be in the middle of that.
  if (in.peek() != std::ifstream::traits_type::eof())
    return Status(Code::io_error) << path.string() << ": more than the " << size
                                  << " bytes that it had at first: it was changed while it was read";
  return bytes;
}

Result<std::shared_ptr<const OwnedModel>> OwnedModel::from_bytes(std::span<const std::byte> bytes,
                                                                 const ModelOptions& options,
                                                                 const crypto::Key* key) {
  return catching_bad_alloc("opening the model", [&]() -> Result<std::shared_ptr<const OwnedModel>> {
    const bool encrypted = is_encrypted_model(bytes);
    std::size_t size = bytes.size();
    if (encrypted) {
      RUNNEL_ASSIGN(size, encrypted_model_bytes(bytes));
    }
    auto owned = std::make_shared<OwnedModel>();
    auto* copy = static_cast<std::byte*>(owned->memory_.allocate(size, 64));
    if (copy == nullptr)
      return Status(Code::out_of_memory) << "no memory for a model of " << size << " bytes";
    if (encrypted) {
      RUNNEL_TRY(decrypt_model(bytes, key, {copy, size}));
    } else if (size > 0) {
      std::memcpy(copy, bytes.data(), size);
    }
    RUNNEL_ASSIGN(Model model, Model::open({copy, size}, options));
    owned->model_ = model;
    return std::shared_ptr<const OwnedModel>(std::move(owned));
  });
}

Result<std::shared_ptr<const OwnedModel>> OwnedModel::from_file(const fs::path& path,
                                                                const crypto::Key* key) {
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_whole_file(path));
  auto model = from_bytes(bytes, {}, key);
  if (!model.ok()) return model.status().at(path.string());
  return model;
}

Result<std::shared_ptr<const Engine>> Engine::make(std::shared_ptr<const OwnedModel> model,
                                                   const PrepareOptions& options, OperatorTable table) {
  return catching_bad_alloc("preparing the model", [&]() -> Result<std::shared_ptr<const Engine>> {
    auto engine = std::make_shared<Engine>();
    engine->model_ = std::move(model);
    RUNNEL_ASSIGN(engine->prepared_,
                  Prepared::make(engine->model_->model(), table, options, engine->memory_));
    return std::shared_ptr<const Engine>(std::move(engine));
  });
}

Result<std::unique_ptr<Runner>> Runner::make(std::shared_ptr<const Engine> engine) {
  return catching_bad_alloc("a session", [&]() -> Result<std::unique_ptr<Runner>> {
    auto runner = std::make_unique<Runner>();
    const Prepared& prepared = engine->prepared();
    runner->engine_ = std::move(engine);
    RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(prepared, runner->memory_));
    auto* state = static_cast<std::byte*>(runner->memory_.allocate(prepared.state_bytes(), 64));
    if (state == nullptr)
      return Status(Code::out_of_memory)
             << "no memory for a session of " << prepared.state_bytes() << " bytes";
    RUNNEL_ASSIGN(Session session, Session::make(prepared, *workspace, {state, prepared.state_bytes()}));
    runner->session_ = session;
    if (prepared.threads() > 1) {
      RUNNEL_ASSIGN(runner->threads_, ThreadPool::make(prepared.threads()));
      workspace->use(runner->threads_.get());
    }
    return runner;
  });
}

}  // namespace runnel
