#include "services/fleet/graphs/travelling_graph.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/crc32c.h"
#include "base/host/small_file.h"
#include "base/sha256.h"
#include "base/version.h"
#include "inference/host/engine.h"
#include "inference/model/model.h"
#include "pipeline/host/text.h"
#include "services/fleet/serve_runner.h"
#include "services/trust/signature_file.h"

namespace runnel::fleet {
namespace {

constexpr std::string_view kModel = "model", kPrefix = "model:";
// Of `ctc`: what a graph may need besides its models.
constexpr std::string_view kFiles[] = {"lexicon", "grammar", "tokens"};

// Version, models and the graph: where the models lie does not matter, what they are does. `files`: sum of
// other files.
std::uint32_t identity_of(const pipeline::GraphText& packed,
                          const std::vector<std::vector<std::byte>>& models, std::uint32_t files = 0) {
  std::uint32_t sum = crc32c(std::as_bytes(std::span(kVersion)), files);
  for (const std::vector<std::byte>& model : models) sum = crc32c(model, sum);
  const std::string text = to_text(packed);
  return crc32c(std::as_bytes(std::span(text)), sum);
}

class GivenModels final : public ModelLoader {
 public:
  Status add(std::span<const std::byte> bytes) {
    RUNNEL_ASSIGN(auto model, OwnedModel::from_bytes(bytes));
    models_.push_back(std::move(model));
    return {};
  }
  Result<const Model*> load(std::string_view name) noexcept override {
    for (std::size_t i = 0; i < models_.size(); ++i)
      if (name == std::string(kPrefix) + std::to_string(i)) return &models_[i]->model();
    return Status(Code::not_found) << name << ": the graph came with " << models_.size() << " models";
  }

 private:
  std::vector<std::shared_ptr<const OwnedModel>> models_;
};

class TravelledRunner final : public Runner {
 public:
  TravelledRunner(std::unique_ptr<GivenModels> models, std::unique_ptr<ServeRunner> inner)
      : models_(std::move(models)), inner_(std::move(inner)) {}
  [[nodiscard]] std::uint32_t identity() const noexcept override { return inner_->identity(); }
  Result<std::unique_ptr<Run>> start(std::string_view name, const serve::SampleFormat& format,
                                     std::int64_t first) override {
    return inner_->start(name, format, first);
  }
  void hear(std::span<Turn> turns) override { inner_->hear(turns); }

 private:
  std::unique_ptr<GivenModels> models_;
  std::unique_ptr<ServeRunner> inner_;  // uses the models
};

// The signature beside the file of a model in hexadecimal digits, if it is of these bytes: a model that was
// imported, or decrypted, travels as other bytes than its file has. Who has signed is for the receiver to
// judge.
std::string signature_of(const std::string& name, std::span<const std::byte> model, const FindModel& find) {
  const Result<std::string> file = find ? find(name) : Result<std::string>(name);
  if (!file.ok()) return {};
  const auto bytes = read_whole_file(trust::signature_place(*file), embed::kImageHeaderBytes);
  if (!bytes.ok() || bytes->size() != embed::kImageHeaderBytes) return {};
  const auto header = embed::read_image_header(std::span(*bytes).first<embed::kImageHeaderBytes>());
  if (!header.ok() || header->digest != sha256(model)) return {};
  return crypto::hex({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
}

std::vector<std::byte> bytes_of_digits(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::vector<std::byte> out(digits.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(value(digits[2 * i]) * 16 + value(digits[2 * i + 1]));
  return out;
}

}  // namespace

Result<TravellingGraph> pack_graph(std::string_view around, ModelLoader& loader, std::string name,
                                   const FindModel& find) {
  TravellingGraph out;
  RUNNEL_ASSIGN(pipeline::GraphText text, pipeline::parse_graph(around));
  pipeline::GraphText before;
  std::uint32_t files = 0;
  for (pipeline::NodeText& node : text.nodes) {
    for (auto& parameter : node.parameters) {
      if (node.type == "ctc" && !parameter.value.empty() &&
          std::find(std::begin(kFiles), std::end(kFiles), parameter.key) != std::end(kFiles)) {
        out.needs = "its " + node.type + " needs the file " + parameter.value +
                    "; a graph of a fleet takes its models with it, not other files";
        RUNNEL_ASSIGN(const std::string content, read_small_file(parameter.value));
        files = crc32c(std::as_bytes(std::span(content)), files);
        parameter.value = "file";
      }
      if (parameter.key != kModel) continue;
      RUNNEL_ASSIGN(const Model* const model, loader.load(parameter.value));
      const std::span<const std::byte> bytes = model->bytes();
      if (out.models.size() == GraphRecord::kMostModels || bytes.size() > GraphRecord::kMostBytes)
        return Status(Code::unsupported)
               << parameter.value << ": " << bytes.size() << " bytes; a graph of a fleet has at most "
               << GraphRecord::kMostModels << " models of at most " << GraphRecord::kMostBytes
               << " bytes each";
      if (out.models.empty()) {
        if (!before.nodes.empty()) out.record.front_end = to_text(before);
        if (const fb::Pipeline* const parts = model->pipeline();
            parts != nullptr && parts->labels() != nullptr)
          for (const auto* const label : *parts->labels()) out.record.labels.push_back(label->str());
      }
      out.record.models.push_back(
          {sha256_of(bytes), bytes.size(), signature_of(parameter.value, bytes, find)});
      parameter.value = std::string(kPrefix) + std::to_string(out.models.size());
      out.models.emplace_back(bytes.begin(), bytes.end());
    }
    if (out.models.empty()) before.nodes.push_back(node);
  }
  out.record.name = std::move(name);
  out.record.version = kVersion;
  out.record.around = to_text(text);
  out.record.identity = identity_of(text, out.models, files);
  return out;
}

MakeRunner runner_maker(const pipeline::GraphOptions& options, std::size_t most,
                        std::shared_ptr<const trust::Trust> trust) {
  return [options, most, trust = std::move(trust)](
             const GraphRecord& record,
             const std::vector<std::vector<std::byte>>& bytes) -> Result<std::unique_ptr<Runner>> {
    RUNNEL_ASSIGN(const pipeline::GraphText text, pipeline::parse_graph(record.around));
    for (std::size_t i = 0; trust != nullptr && i < bytes.size(); ++i) {
      // Its name in the record is whatever the sender chose.
      const auto found = trust->check(bytes[i], bytes_of_digits(record.models[i].signature), {});
      if (!found.ok())
        return found.status().at(record.name + ": " + std::string(kPrefix) + std::to_string(i));
    }
    auto models = std::make_unique<GivenModels>();
    for (const std::vector<std::byte>& one : bytes) RUNNEL_TRY(models->add(one));
    pipeline::GraphOptions own = options;
    own.models = models.get();
    RUNNEL_ASSIGN(auto runner, ServeRunner::make(record.around, own, identity_of(text, bytes), most));
    return std::unique_ptr<Runner>(std::make_unique<TravelledRunner>(std::move(models), std::move(runner)));
  };
}

}  // namespace runnel::fleet
