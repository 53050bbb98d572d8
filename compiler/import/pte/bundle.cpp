#include "compiler/import/pte/bundle.h"

#include "compiler/copy_budget.h"
#include "compiler/import/pte/constant.h"
#include "compiler/import/pte/pte_generated.h"
#include "compiler/import/pte/source.h"

namespace runnel::compiler::pte_source {
namespace {

constexpr char kIdentifier[] = "BP08";

template <class T>
std::size_t count_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}

template <class T>
std::vector<T> numbers_in(const flatbuffers::Vector<T>* list) {
  std::vector<T> out;
  for (flatbuffers::uoffset_t i = 0; i < count_of(list); ++i) out.push_back(list->Get(i));
  return out;
}

// One value in the graph's order of axes. Errors: unsupported when it does not fit the tensor.
Result<VectorTensor> read_value(const pte::BundledValue& value, const Graph& graph, TensorId id,
                                CopyBudget& budget, const std::string& place) {
  const auto* const from = value.val_as_Tensor();
  if (from == nullptr) return Status(Code::unsupported) << place << ": no tensor";
  const compiler::Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
  const auto type = dtype_of(from->scalar_type());
  if (!type || *type != tensor.dtype)
    return Status(Code::unsupported) << place << ": another type than the model's " << name_of(tensor.dtype);
  if (count_of(from->sizes()) > kMaxRank)
    return Status(Code::invalid_data) << place << ": rank " << count_of(from->sizes());
  const Dims dims = numbers_in(from->sizes());
  RUNNEL_ASSIGN(const auto order, checked_order(numbers_in(from->dim_order()), dims.size(), place));
  RUNNEL_ASSIGN(const std::size_t bytes, bytes_of(dims, size_of(tensor.dtype), place));
  if (count_of(from->data()) != bytes)
    return Status(Code::invalid_data)
           << place << ": " << count_of(from->data()) << " bytes for a shape of " << bytes;
  if (dims != tensor.shape && !(dims.empty() && tensor.shape == Dims{1}))
    return Status(Code::unsupported) << place << ": another shape than the model's";
  // Many cases may share one tensor.
  if (!budget.spend(bytes)) return budget.status().at(place);
  const Perm perm(order.begin(), order.end());
  const auto data = std::as_bytes(std::span(from->data()->data(), bytes));
  const Constant stored{tensor.dtype, permuted(dims, perm), {data.begin(), data.end()}};
  return VectorTensor{id, tensor.shape, transposed(stored, inverse(perm)).data};
}

Result<std::vector<VectorTensor>> read_values(
    const flatbuffers::Vector<flatbuffers::Offset<pte::BundledValue>>* values, const Graph& graph,
    const std::vector<TensorId>& ids, CopyBudget& budget, const std::string& place) {
  if (count_of(values) != ids.size())
    return Status(Code::unsupported) << place << ": " << count_of(values) << " values for " << ids.size()
                                     << " tensors";
  std::vector<VectorTensor> out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    RUNNEL_ASSIGN(VectorTensor value, read_value(*values->Get(static_cast<flatbuffers::uoffset_t>(i)), graph,
                                                 ids[i], budget, place + ", value " + std::to_string(i)));
    out.push_back(std::move(value));
  }
  return out;
}

Result<VectorCase> read_case(const pte::TestCase& from, const Graph& graph, CopyBudget& budget,
                             const std::string& place) {
  VectorCase out;
  RUNNEL_ASSIGN(out.inputs, read_values(from.inputs(), graph, graph.inputs, budget, place + " inputs"));
  RUNNEL_ASSIGN(out.outputs,
                read_values(from.expected_outputs(), graph, graph.outputs, budget, place + " outputs"));
  return out;
}

}  // namespace

Result<std::span<const std::byte>> bundled_program(std::span<const std::byte> file) {
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.data()), file.size(), 16,
                                 1'000'000);
  if (!verifier.VerifyBuffer<pte::BundledProgram>(kIdentifier))
    return Status(Code::invalid_data)
           << file.size() << " bytes that are not a valid FlatBuffer with identifier " << kIdentifier;
  const auto* const program = flatbuffers::GetRoot<pte::BundledProgram>(file.data())->program();
  if (count_of(program) == 0) return Status(Code::invalid_data) << "no program beside its test cases";
  return std::as_bytes(std::span(program->data(), program->size()));
}

Status add_test_cases(std::span<const std::byte> file, const std::string& method, Graph& graph,
                      std::vector<std::string>& notes) {
  const auto* const suites = flatbuffers::GetRoot<pte::BundledProgram>(file.data())->method_test_suites();
  CopyBudget budget(file.size());
  int left_out = 0;
  std::string why;
  for (flatbuffers::uoffset_t s = 0; s < count_of(suites); ++s) {
    const pte::TestSuite& suite = *suites->Get(s);
    if (suite.method_name() == nullptr || suite.method_name()->str() != method) continue;
    for (flatbuffers::uoffset_t i = 0; i < count_of(suite.test_cases()); ++i) {
      auto read = read_case(*suite.test_cases()->Get(i), graph, budget, "test case " + std::to_string(i));
      if (read.status().code() == Code::unsupported) {
        ++left_out;
        why = read.status().text();
        continue;
      }
      if (!read.ok()) return read.status();
      graph.vectors.push_back(std::move(read).value());
    }
  }
  if (left_out > 0) notes.push_back(std::to_string(left_out) + " test cases left out; " + why);
  return {};
}

}  // namespace runnel::compiler::pte_source
