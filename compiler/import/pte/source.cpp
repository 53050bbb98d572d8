#include "compiler/import/pte/source.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/limits.h"
#include "compiler/copy_budget.h"
#include "compiler/import/pte/header.h"
#include "compiler/import/pte/pte_generated.h"

namespace runnel::compiler::pte_source {
namespace {

constexpr std::size_t kMaxBytes =
    static_cast<std::size_t>(limits::kModelBytes);  // of one tensor, and of a file
constexpr std::size_t kMaxValues = limits::kProgramValues, kMaxInstructions = limits::kProgramInstructions;
constexpr std::uint32_t kMemories = 16;

template <class T>
std::size_t size_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}
std::span<const std::byte> bytes_in(const flatbuffers::Vector<std::uint8_t>* list) {
  return std::as_bytes(std::span(list == nullptr ? nullptr : list->data(), size_of(list)));
}

class Reader {
 public:
  Reader(std::span<const std::byte> file, const Layout& layout, const pte::Program& program)
      : file_(file), layout_(layout), program_(program), budget_(file.size()) {}

  Result<Program> read() {
    if (program_.version() != 0)
      return Status(Code::unsupported) << "schema version " << program_.version() << ", expected 0";
    if (size_of(program_.execution_plan()) == 0) return Status(Code::invalid_data) << "no method in it";
    RUNNEL_TRY(check_segments());
    Program out;
    RUNNEL_TRY(read_named_data(out));
    for (flatbuffers::uoffset_t i = 1; i < program_.execution_plan()->size(); ++i)
      out.other_methods.push_back(text_of(program_.execution_plan()->Get(i)->name()));
    RUNNEL_TRY(budget_.status());
    auto method = read_method(*program_.execution_plan()->Get(0));
    RUNNEL_TRY(budget_.status());
    if (!method.ok()) return method.status();
    out.method = std::move(method).value();
    return out;
  }

 private:
  // Copied, because the verifier does not promise that eight-byte elements are aligned.
  template <class T>
  Result<std::vector<T>> numbers(const flatbuffers::Vector<T>* from, const std::string& place) {
    if (!budget_.spend(size_of(from) * sizeof(T))) return budget_.status().at(place);
    std::vector<T> out(size_of(from));
    if (!out.empty()) std::memcpy(out.data(), from->Data(), out.size() * sizeof(T));
    return out;
  }
  std::string text_of(const flatbuffers::String* text) {
    return text == nullptr || !budget_.spend(text->size()) ? std::string() : text->str();
  }

  Status check_segments() {
    // Files without extended header have a segment of no bytes at most.
    for (flatbuffers::uoffset_t i = 0; i < size_of(program_.segments()); ++i) {
      const pte::DataSegment& segment = *program_.segments()->Get(i);
      if (!range_inside(segment.offset(), segment.size(), layout_.segment_bytes)) {
        return Status(Code::invalid_data) << "segment " << i << ": " << segment.size() << " bytes at "
                                          << segment.offset() << ", outside of " << layout_.segment_bytes;
      }
    }
    return {};
  }
  Result<std::span<const std::byte>> segment(std::uint64_t index, const std::string& place) const {
    if (index >= size_of(program_.segments()))
      return Status(Code::invalid_data)
             << place << ": segment " << index << " of " << size_of(program_.segments());
    const pte::DataSegment& found = *program_.segments()->Get(static_cast<flatbuffers::uoffset_t>(index));
    return file_.subspan(layout_.segment_base + static_cast<std::size_t>(found.offset()),
                         static_cast<std::size_t>(found.size()));
  }
  // Piece `index` of a segment: from its offset on, `bytes` long.
  Result<std::span<const std::byte>> piece(const pte::SubsegmentOffsets* pieces, std::uint64_t index,
                                           std::size_t bytes, const std::string& place) const {
    if (pieces == nullptr || index >= size_of(pieces->offsets())) {
      return Status(Code::invalid_data)
             << place << ": piece " << index << " of " << (pieces == nullptr ? 0 : size_of(pieces->offsets()))
             << " of a segment";
    }
    std::uint64_t offset = 0;
    std::memcpy(&offset, pieces->offsets()->Data() + index * sizeof offset, sizeof offset);
    RUNNEL_ASSIGN(const auto whole, segment(pieces->segment_index(), place));
    if (!range_inside(offset, bytes, whole.size())) {
      return Status(Code::invalid_data)
             << place << ": " << bytes << " bytes at " << offset << " of a segment of " << whole.size();
    }
    return whole.subspan(static_cast<std::size_t>(offset), bytes);
  }

  Status read_named_data(Program& out) {
    for (flatbuffers::uoffset_t i = 0; i < size_of(program_.named_data()); ++i) {
      const pte::NamedData& from = *program_.named_data()->Get(i);
      NamedData data{text_of(from.key()), {}};
      RUNNEL_TRY(budget_.status());
      RUNNEL_ASSIGN(data.bytes, segment(from.segment_index(), "named data \"" + data.key + "\""));
      out.named_data.push_back(std::move(data));
    }
    return {};
  }

  Result<std::span<const std::byte>> constant_data(std::uint32_t buffer, std::size_t bytes,
                                                   const std::string& place) const {
    // Newer files keep constants in a segment; older ones in the FlatBuffer itself.
    if (program_.constant_segment() != nullptr && size_of(program_.constant_segment()->offsets()) > 0)
      return piece(program_.constant_segment(), buffer, bytes, place);
    if (buffer >= size_of(program_.constant_buffer()))
      return Status(Code::invalid_data)
             << place << ": constant " << buffer << " of " << size_of(program_.constant_buffer());
    const auto data = bytes_in(program_.constant_buffer()->Get(buffer)->storage());
    if (data.size() < bytes)
      return Status(Code::invalid_data)
             << place << ": " << data.size() << " bytes of data, expected " << bytes;
    return data.first(bytes);
  }
  Result<std::span<const std::byte>> first_data(const pte::Tensor& from, std::size_t bytes,
                                                const std::string& place) const {
    const std::uint64_t which =
        from.extra_tensor_info() == nullptr ? 0 : from.extra_tensor_info()->mutable_data_segments_idx();
    if (which >= size_of(program_.mutable_data_segments())) {
      return Status(Code::invalid_data)
             << place << ": mutable data " << which << " of " << size_of(program_.mutable_data_segments());
    }
    return piece(program_.mutable_data_segments()->Get(static_cast<flatbuffers::uoffset_t>(which)),
                 from.data_buffer_idx(), bytes, place);
  }

  Result<Tensor> read_tensor(const pte::Tensor& from, const std::string& place) {
    Tensor tensor;
    const auto type = dtype_of(from.scalar_type());
    if (!type)
      return Status(Code::invalid_data) << place << ": type " << static_cast<int>(from.scalar_type())
                                        << ", which is none of ExecuTorch's";
    tensor.dtype = *type;
    if (from.extra_tensor_info() != nullptr) {
      tensor.name = text_of(from.extra_tensor_info()->fully_qualified_name());
      if (from.extra_tensor_info()->location() != 0)
        return Status(Code::unsupported) << place << ": its data is in another file";
    }
    if (from.storage_offset() != 0)
      return Status(Code::invalid_data)
             << place << ": a storage offset of " << from.storage_offset() << ", expected 0";
    if (from.shape_dynamism() < 0 || from.shape_dynamism() > 2)
      return Status(Code::invalid_data)
             << place << ": shape dynamism " << static_cast<int>(from.shape_dynamism());
    if (from.shape_dynamism() == 2)
      return Status(Code::unsupported) << place << ": a shape without upper bound";
    if (size_of(from.sizes()) > kMaxRank)
      return Status(Code::invalid_data)
             << place << ": rank " << size_of(from.sizes()) << ", expected at most " << kMaxRank;
    RUNNEL_ASSIGN(tensor.sizes, numbers(from.sizes(), place));
    RUNNEL_ASSIGN(auto order, numbers(from.dim_order(), place));
    RUNNEL_ASSIGN(tensor.dim_order, checked_order(std::move(order), tensor.sizes.size(), place));
    RUNNEL_ASSIGN(tensor.bytes,
                  bytes_of(tensor.sizes, std::max<std::size_t>(runnel::size_of(tensor.dtype), 1), place));
    if (const pte::AllocationDetails* at = from.allocation_info(); at != nullptr) {
      tensor.planned = true;
      tensor.memory = at->memory_id();
      tensor.offset = std::uint64_t{at->memory_offset_high()} << 32 | at->memory_offset_low();
      if (tensor.memory == 0 || tensor.memory >= memories_.size())
        return Status(Code::invalid_data)
               << place << ": memory " << tensor.memory << " of " << memories_.size();
      if (!range_inside(tensor.offset, tensor.bytes, memories_[tensor.memory])) {
        return Status(Code::invalid_data) << place << ": " << tensor.bytes << " bytes at " << tensor.offset
                                          << " of a memory of " << memories_[tensor.memory];
      }
    }
    if (from.data_buffer_idx() > 0 && tensor.dtype != DType::none) {
      if (tensor.planned) {
        RUNNEL_ASSIGN(tensor.data, first_data(from, tensor.bytes, place));
      } else {
        RUNNEL_ASSIGN(tensor.data, constant_data(from.data_buffer_idx(), tensor.bytes, place));
      }
    }
    return tensor;
  }

  Result<Value> read_value(const pte::Value& from, const std::string& place) {
    const bool empty = from.val_type() == pte::Values::NONE || from.val_type() == pte::Values::Null;
    if (!empty && from.val() == nullptr)
      return Status(Code::invalid_data)
             << place << ": of kind " << static_cast<int>(from.val_type()) << ", but there is nothing";
    switch (from.val_type()) {
      case pte::Values::NONE:
      case pte::Values::Null:
        return Value();
      case pte::Values::Int:
        return Value(from.val_as_Int()->value());
      case pte::Values::Bool:
        return Value(from.val_as_Bool()->value());
      case pte::Values::Double:
        return Value(from.val_as_Double()->value());
      case pte::Values::String:
        return Value(text_of(from.val_as_String()->value()));
      case pte::Values::Tensor: {
        RUNNEL_ASSIGN(Tensor tensor, read_tensor(*from.val_as_Tensor(), place));
        return Value(std::move(tensor));
      }
      case pte::Values::IntList: {
        RUNNEL_ASSIGN(auto items, numbers(from.val_as_IntList()->items(), place));
        return Value(Integers{std::move(items)});
      }
      case pte::Values::DoubleList: {
        RUNNEL_ASSIGN(auto items, numbers(from.val_as_DoubleList()->items(), place));
        return Value(Numbers{std::move(items)});
      }
      case pte::Values::TensorList: {
        RUNNEL_ASSIGN(auto items, numbers(from.val_as_TensorList()->items(), place));
        return Value(Tensors{std::move(items)});
      }
      case pte::Values::OptionalTensorList: {
        RUNNEL_ASSIGN(auto items, numbers(from.val_as_OptionalTensorList()->items(), place));
        return Value(Tensors{std::move(items)});
      }
      case pte::Values::BoolList:
        return Value(Other{"a list of booleans"});
    }
    return Status(Code::invalid_data)
           << place << ": kind " << static_cast<int>(from.val_type()) << ", which is none of ExecuTorch's";
  }

  // Lists of integers name boxed integers, lists of tensors tensors or nothing.
  static Status resolve(std::vector<Value>& values) {
    const auto inside = [&](std::int64_t index) {
      return index >= 0 && static_cast<std::size_t>(index) < values.size();
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string place = "value " + std::to_string(i);
      if (auto* list = std::get_if<Integers>(&values[i])) {
        for (std::int64_t& item : list->items) {
          const auto* boxed =
              inside(item) ? std::get_if<std::int64_t>(&values[static_cast<std::size_t>(item)]) : nullptr;
          if (boxed == nullptr)
            return Status(Code::invalid_data) << place << ": a list whose element is value " << item
                                              << ", which is no integer among " << values.size();
          item = *boxed;
        }
      } else if (auto* tensors = std::get_if<Tensors>(&values[i])) {
        for (std::int32_t& item : tensors->items) {
          if (item == -1) continue;
          if (!inside(item))
            return Status(Code::invalid_data)
                   << place << ": a list whose element is value " << item << " of " << values.size();
          const Value& named = values[static_cast<std::size_t>(item)];
          if (std::holds_alternative<std::monostate>(named))
            item = -1;
          else if (!std::holds_alternative<Tensor>(named))
            return Status(Code::invalid_data)
                   << place << ": a list whose element is value " << item << ", which is no tensor";
        }
      }
    }
    return {};
  }

  Status check_indices(const std::vector<std::int32_t>& indices, std::size_t count,
                       const std::string& place) const {
    for (const std::int32_t index : indices) {
      if (index < 0 || static_cast<std::size_t>(index) >= count)
        return Status(Code::invalid_data) << place << ": value " << index << " of " << count;
    }
    return {};
  }

  Result<Instruction> read_instruction(const pte::Instruction& from, const Method& method,
                                       const std::string& place) {
    Instruction out;
    std::int64_t which = 0;
    std::size_t of = 0;
    if (from.args() == nullptr) return Status(Code::invalid_data) << place << ": no arguments";
    switch (from.args_type()) {
      case pte::InstructionArguments::KernelCall: {
        RUNNEL_ASSIGN(out.args, numbers(from.args_as_KernelCall()->args(), place));
        which = from.args_as_KernelCall()->op_index();
        of = method.operators.size();
        break;
      }
      case pte::InstructionArguments::DelegateCall: {
        RUNNEL_ASSIGN(out.args, numbers(from.args_as_DelegateCall()->args(), place));
        out.kind = Instruction::Kind::delegate;
        which = from.args_as_DelegateCall()->delegate_index();
        of = method.delegates.size();
        break;
      }
      case pte::InstructionArguments::MoveCall:
        out.kind = Instruction::Kind::move;
        out.args = {from.args_as_MoveCall()->move_from(), from.args_as_MoveCall()->move_to()};
        break;
      case pte::InstructionArguments::JumpFalseCall:
        out.kind = Instruction::Kind::jump;
        out.args = {from.args_as_JumpFalseCall()->cond_value_index()};
        break;
      case pte::InstructionArguments::FreeCall:
        out.kind = Instruction::Kind::free;
        out.args = {from.args_as_FreeCall()->value_index()};
        break;
      case pte::InstructionArguments::NONE:
        return Status(Code::invalid_data) << place << ": is of no known kind";
    }
    const bool calls = out.kind == Instruction::Kind::kernel || out.kind == Instruction::Kind::delegate;
    if (calls && (which < 0 || static_cast<std::size_t>(which) >= of)) {
      return Status(Code::invalid_data)
             << place << ": " << (out.kind == Instruction::Kind::kernel ? "operator " : "delegate ") << which
             << " of " << of;
    }
    out.which = static_cast<std::size_t>(which);
    RUNNEL_TRY(check_indices(out.args, method.values.size(), place));
    return out;
  }

  Result<Delegate> read_delegate(const pte::Delegate& from, std::size_t index) {
    Delegate out;
    out.id = text_of(from.id());
    const std::string place = "delegate " + std::to_string(index) + " (" + out.id + ")";
    const pte::DelegateDataReference* data = from.processed();
    if (data == nullptr) return Status(Code::invalid_data) << place << ": no data";
    if (data->location() == 1) {
      RUNNEL_ASSIGN(out.payload, segment(data->index(), place));
    } else if (data->location() == 0) {
      if (data->index() >= size_of(program_.backend_delegate_data())) {
        return Status(Code::invalid_data)
               << place << ": data " << data->index() << " of " << size_of(program_.backend_delegate_data());
      }
      out.payload = bytes_in(program_.backend_delegate_data()->Get(data->index())->data());
    } else {
      return Status(Code::invalid_data)
             << place << ": data at location " << static_cast<int>(data->location())
             << ", expected 0 (inline) or 1 (segment)";
    }
    for (flatbuffers::uoffset_t i = 0; i < size_of(from.compile_specs()); ++i) {
      const pte::CompileSpec& spec = *from.compile_specs()->Get(i);
      const auto value = bytes_in(spec.value());
      if (!budget_.spend(value.size())) return budget_.status().at(place);
      out.specs.emplace_back(text_of(spec.key()),
                             std::string(reinterpret_cast<const char*>(value.data()), value.size()));
    }
    return out;
  }

  Result<Method> read_method(const pte::ExecutionPlan& from) {
    Method out;
    out.name = text_of(from.name());
    RUNNEL_ASSIGN(const auto memories, numbers(from.non_const_buffer_sizes(), "memories"));
    for (const std::int64_t bytes : memories) {
      if (bytes < 0 || memories_.size() > kMemories)
        return Status(Code::invalid_data) << "a memory of " << bytes << " bytes among " << memories.size()
                                          << ", expected 0 or more and at most " << kMemories;
      memories_.push_back(static_cast<std::uint64_t>(bytes));
    }
    if (size_of(from.values()) > kMaxValues)
      return Status(Code::invalid_data)
             << from.values()->size() << " values, expected at most " << kMaxValues;
    for (flatbuffers::uoffset_t i = 0; i < size_of(from.values()); ++i) {
      if (!budget_.spend(sizeof(Value))) return budget_.status();
      RUNNEL_ASSIGN(Value value, read_value(*from.values()->Get(i), "value " + std::to_string(i)));
      out.values.push_back(std::move(value));
    }
    RUNNEL_TRY(resolve(out.values));
    RUNNEL_ASSIGN(out.inputs, numbers(from.inputs(), "the inputs"));
    RUNNEL_ASSIGN(out.outputs, numbers(from.outputs(), "the outputs"));
    RUNNEL_TRY(check_indices(out.inputs, out.values.size(), "the inputs"));
    RUNNEL_TRY(check_indices(out.outputs, out.values.size(), "the outputs"));
    for (flatbuffers::uoffset_t i = 0; i < size_of(from.operators()); ++i) {
      const pte::Operator& op = *from.operators()->Get(i);
      out.operators.push_back(text_of(op.name()) +
                              (size_of(op.overload()) == 0 ? "" : "." + text_of(op.overload())));
    }
    RUNNEL_TRY(budget_.status());
    for (flatbuffers::uoffset_t i = 0; i < size_of(from.delegates()); ++i) {
      RUNNEL_ASSIGN(Delegate delegate, read_delegate(*from.delegates()->Get(i), i));
      out.delegates.push_back(std::move(delegate));
    }
    if (size_of(from.chains()) != 1)
      return Status(Code::unsupported) << size_of(from.chains()) << " chains of instructions, expected 1";
    const auto* const instructions = from.chains()->Get(0)->instructions();
    if (size_of(instructions) > kMaxInstructions)
      return Status(Code::invalid_data)
             << instructions->size() << " instructions, expected at most " << kMaxInstructions;
    for (flatbuffers::uoffset_t i = 0; i < size_of(instructions); ++i) {
      if (!budget_.spend(sizeof(Instruction))) return budget_.status();
      RUNNEL_ASSIGN(Instruction instruction,
                    read_instruction(*instructions->Get(i), out, "instruction " + std::to_string(i)));
      out.instructions.push_back(std::move(instruction));
    }
    return out;
  }

  std::span<const std::byte> file_;
  Layout layout_;
  const pte::Program& program_;
  CopyBudget budget_;
  std::vector<std::uint64_t> memories_;
};

}  // namespace

std::optional<DType> dtype_of(std::int8_t scalar_type) {
  switch (scalar_type) {
    case 0:
      return DType::uint8;
    case 1:
      return DType::int8;
    case 2:
      return DType::int16;
    case 3:
      return DType::int32;
    case 4:
      return DType::int64;
    case 6:
      return DType::float32;
    case 7:
      return DType::float64;
    case 11:
      return DType::boolean;
    case 27:
      return DType::uint16;
    default:
      break;
  }
  const bool known = scalar_type == 5 || (scalar_type >= 12 && scalar_type <= 17) ||
                     (scalar_type >= 22 && scalar_type <= 29);
  return known ? std::optional(DType::none) : std::nullopt;
}

Result<std::size_t> bytes_of(std::span<const std::int32_t> sizes, std::size_t element,
                             const std::string& place) {
  std::uint64_t bytes = element;
  bool fits = true;
  for (const std::int32_t size : sizes) {
    if (size < 0) return Status(Code::invalid_data) << place << ": a size of " << size;
    // A size of 0 after others must not hide that they overflow.
    if (size > 0)
      fits = fits && checked_mul<std::uint64_t>(bytes, static_cast<std::uint64_t>(size), bytes) &&
             bytes <= kMaxBytes;
  }
  if (!fits) return Status(Code::invalid_data) << place << ": more than " << kMaxBytes << " bytes";
  return std::ranges::find(sizes, 0) != sizes.end() ? 0 : static_cast<std::size_t>(bytes);
}

Result<std::vector<std::uint8_t>> checked_order(std::vector<std::uint8_t> order, std::size_t rank,
                                                const std::string& place) {
  if (order.empty()) {
    for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::uint8_t>(i));
  }
  std::vector<std::uint8_t> sorted = order;
  std::ranges::sort(sorted);
  bool permutation = order.size() == rank;
  for (std::size_t i = 0; permutation && i < rank; ++i) permutation = sorted[i] == i;
  if (!permutation)
    return Status(Code::invalid_data) << place << ": a dim_order of " << order.size()
                                      << " entries that does not name each of " << rank << " axes once";
  return order;
}

Result<Program> read_program(std::span<const std::byte> file) {
  if (file.size() >= kMaxBytes)
    return Status(Code::unsupported) << file.size() << " bytes, expected less than " << kMaxBytes;
  RUNNEL_ASSIGN(const Layout layout, read_layout(file));
  const auto* const start = reinterpret_cast<const std::uint8_t*>(file.data());
  flatbuffers::Verifier verifier(start, layout.program_bytes, 16, 4'000'000);
  if (!pte::VerifyProgramBuffer(verifier))
    return Status(Code::invalid_data)
           << layout.program_bytes << " bytes that are not a valid FlatBuffer with identifier ET12";
  return Reader(file, layout, *pte::GetProgram(start)).read();
}

}  // namespace runnel::compiler::pte_source
