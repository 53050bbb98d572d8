#include "pipeline/nodes/decode/transducer_models.h"

#include <algorithm>

#include "inference/model/loader.h"

namespace runnel::pipeline {

Status WholeModel::prepare(NodeContext& context, std::string_view name, std::size_t inputs,
                           int ids) noexcept {
  if (context.models == nullptr) return Status(Code::unsupported, "this program cannot load models");
  RUNNEL_ASSIGN(const Model* const model, context.models->load(name));
  if (model->inputs().size() != inputs || model->outputs().size() != 1)
    return Status(Code::mismatch) << name << ": has " << model->inputs().size() << " inputs and "
                                  << model->outputs().size() << " outputs, expected " << inputs << " and 1";
  const auto wants = [&](std::int32_t tensor, bool takes_ids) {
    const DType type = model->tensor(tensor).dtype;
    return takes_ids ? type == DType::int64 || type == DType::int32 : type == DType::float32;
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    const bool takes_ids = static_cast<int>(i) == ids;
    if (!wants(model->inputs()[i], takes_ids))
      return Status(Code::mismatch) << name << ": input " << i << " is "
                                    << name_of(model->tensor(model->inputs()[i]).dtype) << ", expected "
                                    << (takes_ids ? "tokens (int64 or int32)" : "float32");
  }
  if (!wants(model->outputs()[0], false))
    return Status(Code::mismatch) << name << ": its output is "
                                  << name_of(model->tensor(model->outputs()[0]).dtype)
                                  << ", expected float32";
  const PrepareOptions options{.mode = RunMode::whole, .isa = context.isa, .slack = context.slack};
  auto prepared = Prepared::make(*model, context.operators, options, context.memory,
                                 context.fast.memory != nullptr ? *context.fast.memory : context.memory);
  if (!prepared.ok()) return prepared.status().at(name);
  prepared_ = *prepared;
  RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(*prepared_, context.memory));
  auto* const state = static_cast<std::byte*>(
      context.memory.allocate(std::max<std::size_t>(prepared_->state_bytes(), 1), 64));
  if (state == nullptr) return out_of_memory("the state of a model");
  RUNNEL_ASSIGN(session_, Session::make(*prepared_, *workspace, {state, prepared_->state_bytes()}));
  return {};
}

std::int64_t WholeModel::input_values(int position) const noexcept {
  return prepared_->shape(prepared_->model().inputs()[static_cast<std::size_t>(position)]).elements();
}
std::int64_t WholeModel::output_values() const noexcept {
  return prepared_->shape(prepared_->model().outputs()[0]).elements();
}

void WholeModel::set(int position, std::span<const float> values) noexcept {
  const std::span<std::byte> to = session_.input(position);
  std::copy(values.begin(), values.end(), reinterpret_cast<float*>(to.data()));
}

void WholeModel::set_ids(int position, std::span<const std::int32_t> values) noexcept {
  const std::span<std::byte> to = session_.input(position);
  if (prepared_->model().tensor(prepared_->model().inputs()[static_cast<std::size_t>(position)]).dtype ==
      DType::int64)
    std::copy(values.begin(), values.end(), reinterpret_cast<std::int64_t*>(to.data()));
  else
    std::copy(values.begin(), values.end(), reinterpret_cast<std::int32_t*>(to.data()));
}

std::span<const float> WholeModel::run() noexcept {
  session_.reset();
  session_.run(prepared_->block());
  const std::span<const std::byte> bytes = session_.tensor(prepared_->model().outputs()[0]);
  return {reinterpret_cast<const float*>(bytes.data()), static_cast<std::size_t>(output_values())};
}

Status TransducerModels::prepare(NodeContext& context, std::string_view decoder, std::string_view joiner,
                                 std::int64_t frame_values) noexcept {
  apart_ = !decoder.empty();
  RUNNEL_TRY(joiner_.prepare(context, joiner, 2, apart_ ? -1 : 1));
  if (joiner_.input_values(0) != frame_values)
    return Status(Code::mismatch) << context.input_label << " gives frames of " << frame_values
                                  << " values, the first input of " << joiner << " takes "
                                  << joiner_.input_values(0);
  std::int64_t context_tokens = joiner_.input_values(1);
  if (apart_) {
    RUNNEL_TRY(decoder_.prepare(context, decoder, 1, 0));
    if (decoder_.output_values() != joiner_.input_values(1))
      return Status(Code::mismatch) << decoder << " gives " << decoder_.output_values()
                                    << " values, the second input of " << joiner << " takes "
                                    << joiner_.input_values(1);
    context_tokens = decoder_.input_values(0);
  }
  if (context_tokens < 1 || context_tokens > decoding::kMostContext)
    return Status(Code::mismatch) << (apart_ ? decoder : joiner) << " takes " << context_tokens
                                  << " tokens, expected 1 to " << decoding::kMostContext;
  if (joiner_.output_values() < 2 || joiner_.output_values() > 1 << 24)
    return Status(Code::mismatch) << joiner << " gives " << joiner_.output_values()
                                  << " values, expected the logits of a blank and tokens";
  context_ = static_cast<std::int32_t>(context_tokens);
  classes_ = static_cast<std::int32_t>(joiner_.output_values());
  // A joiner with the decoder within gets the tokens themselves.
  predicted_ = static_cast<std::int32_t>(apart_ ? decoder_.output_values() : context_tokens);
  return {};
}

void TransducerModels::predict(std::span<const std::int32_t> tokens, std::span<float> to) noexcept {
  if (!apart_) {
    // Numbers of tokens are below 2^24: exact as float32.
    std::copy(tokens.begin(), tokens.end(), to.begin());
    return;
  }
  decoder_.set_ids(0, tokens);
  const std::span<const float> said = decoder_.run();
  std::copy(said.begin(), said.end(), to.begin());
}

std::span<const float> TransducerModels::join(std::span<const float> frame,
                                              std::span<const float> predicted) noexcept {
  joiner_.set(0, frame);
  if (apart_) {
    joiner_.set(1, predicted);
  } else {
    std::int32_t tokens[decoding::kMostContext] = {};
    for (std::size_t i = 0; i < predicted.size(); ++i) tokens[i] = static_cast<std::int32_t>(predicted[i]);
    joiner_.set_ids(1, {tokens, predicted.size()});
  }
  return joiner_.run();
}

}  // namespace runnel::pipeline
