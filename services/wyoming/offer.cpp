#include "services/wyoming/offer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "inference/model/loader.h"
#include "inference/model/model.h"
#include "pipeline/host/text.h"
#include "pipeline/nodes/decide/detect.h"

namespace runnel::wyoming {
namespace {

// Frames without voice after which somebody has stopped speaking, where the decision does not say.
constexpr const char* kEndpointFrames = "20";
// Streams that are kept for further clients.
constexpr std::size_t kKept = 8;

using pipeline::NodeText;

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

std::string value_of(const NodeText& node, std::string_view key) {
  for (const pipeline::ParameterText& parameter : node.parameters) {
    if (parameter.key == key) return parameter.value;
  }
  return {};
}

bool has(const NodeText& node, std::string_view key) {
  return std::any_of(node.parameters.begin(), node.parameters.end(),
                     [key](const pipeline::ParameterText& parameter) { return parameter.key == key; });
}

bool of_voice(const std::string& label) { return label == "voice" || label == "speech"; }
bool of_no_voice(const std::string& label) {
  return label == "silence" || label == "noise" || label == "unknown" || label.starts_with('_');
}

}  // namespace

Offer::Offer(OfferSettings settings, pipeline::GraphOptions graph, std::size_t streams)
    : name_(std::move(settings.name)),
      around_(std::move(settings.around)),
      graph_(std::move(graph)),
      nodes_(serve::served_nodes(graph_.nodes)) {
  // A voice takes two streams.
  const auto text = pipeline::parse_graph(around_);
  std::size_t models = 1;
  if (text.ok())
    models = static_cast<std::size_t>(std::count_if(
        text->nodes.begin(), text->nodes.end(), [](const NodeText& node) { return node.type == "infer"; }));
  shared_ =
      std::make_unique<pipeline::SharedSessions>(2 * (streams + kKept) * std::max<std::size_t>(models, 1));
  graph_.nodes = nodes_;
  graph_.shared = shared_.get();
}

Status Offer::look_at_graph() {
  RUNNEL_ASSIGN(pipeline::GraphText text, pipeline::parse_graph("sound ! " + around_));
  NodeText* detect = nullptr;
  for (NodeText& node : text.nodes) {
    if (node.type == "ctc" || node.type == "transducer") use_ = Use::speech;
    if (node.type == "detect") detect = &node;
    if (node.type != "infer" || graph_.models == nullptr) continue;
    RUNNEL_ASSIGN(const Model* const model, graph_.models->load(value_of(node, "model")));
    labels_.clear();
    if (model->pipeline() == nullptr || model->pipeline()->labels() == nullptr) continue;
    for (const auto* label : *model->pipeline()->labels()) labels_.push_back(label->str());
  }
  if (use_ == Use::speech || detect == nullptr) {
    labels_.clear();
    return {};
  }
  if (has(*detect, "labels")) labels_ = split(value_of(*detect, "labels"));
  if (const std::string sequence = value_of(*detect, "sequence"); !sequence.empty()) {
    labels_ = {sequence};
  } else {
    const std::vector<std::string> ignored =
        split(has(*detect, "ignore") ? value_of(*detect, "ignore")
                                     : std::string(pipeline::Detect::kUsuallyIgnored));
    std::erase_if(labels_, [&](const std::string& label) {
      return std::find(ignored.begin(), ignored.end(), label) != ignored.end();
    });
  }
  const auto is_voice = [](const std::string& label) { return of_voice(label) || of_no_voice(label); };
  if (std::all_of(labels_.begin(), labels_.end(), is_voice) &&
      std::any_of(labels_.begin(), labels_.end(), of_voice))
    use_ = Use::voice;
  const auto with_ends = [&](const char* frames) {
    std::erase_if(detect->parameters, [](const pipeline::ParameterText& parameter) {
      return parameter.key == "endpoint_frames";
    });
    detect->parameters.push_back({"endpoint_frames", frames, 0});
    const std::string all = pipeline::to_text(text);
    return all.substr(all.find('!') + 2);
  };
  const std::string own = value_of(*detect, "endpoint_frames");
  around_ends_ = own.empty() || own == "0" ? with_ends(kEndpointFrames) : around_;
  if (use_ == Use::voice) around_ = with_ends("0");
  return {};
}

Result<std::unique_ptr<Offer>> Offer::make(const OfferSettings& settings, const pipeline::GraphOptions& graph,
                                           std::size_t streams) {
  std::unique_ptr<Offer> offer(new Offer(settings, graph, streams));
  RUNNEL_TRY(offer->look_at_graph());
  // Reports an error in the graph now, not to the first client.
  RUNNEL_ASSIGN(std::unique_ptr<serve::Stream> first, offer->open({}));
  offer->give_back(std::move(first));
  return offer;
}

Result<std::unique_ptr<serve::Stream>> Offer::open(const serve::SampleFormat& format, bool ends) {
  auto& free = ends ? free_ends_ : free_;
  const auto kept =
      std::find_if(free.begin(), free.end(), [&](const auto& stream) { return stream->format() == format; });
  if (kept != free.end()) {
    std::unique_ptr<serve::Stream> stream = std::move(*kept);
    free.erase(kept);
    return stream;
  }
  return serve::Stream::make(ends ? around_ends_ : around_, format, graph_);
}

void Offer::give_back(std::unique_ptr<serve::Stream> stream, bool ends) {
  auto& free = ends ? free_ends_ : free_;
  if (free.size() >= kKept) free.erase(free.begin());
  free.push_back(std::move(stream));
}

}  // namespace runnel::wyoming
