#include "compiler/ir/file_options.h"

#include <tuple>
#include <type_traits>
#include <utility>

namespace runnel::compiler {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// The tables of the schema, one for each alternative of Options. A struct has the fields of its table as
// members, in the order of the schema; its member types may be wider.
using Tables =
    std::tuple<void, fb::ConvOptions, fb::FullyConnectedOptions, fb::BinaryOptions, fb::PoolOptions,
               fb::LutOptions, fb::ClipOptions, fb::TransposeOptions, fb::SliceOptions, fb::AxisOptions,
               fb::PadOptions, fb::ReduceOptions, fb::FunctionOptions, fb::TopKOptions, fb::RecurrentOptions,
               fb::NormOptions, fb::ResizeOptions, fb::BlockOptions, fb::ScatterOptions, fb::ReverseOptions,
               fb::InsertZerosOptions, fb::TransposedConvOptions, fb::StreamingCacheOptions,
               fb::CustomOptions, fb::SequenceLstmOptions, fb::SvdfOptions, fb::DelegateOptions,
               fb::VariableOptions, fb::AttentionOptions>;
constexpr std::size_t kKinds = std::variant_size_v<AnyOptions>;
static_assert(std::tuple_size_v<Tables> == kKinds &&
              static_cast<std::size_t>(fb::Options::MAX) + 1 == kKinds);

template <class T, class... Kinds>
constexpr std::size_t index_of(const std::variant<Kinds...>*) {
  std::size_t index = 0;
  static_cast<void>(((std::is_same_v<T, Kinds> ? false : (++index, true)) && ...));
  return index;
}

// References to the members of a struct of `kCount` members.
template <std::size_t kCount, class T>
auto members_of(T& o) {
  if constexpr (kCount == 1) {
    auto& [a] = o;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = o;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = o;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = o;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = o;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = o;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (kCount == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else {
    static_assert(kCount == 12, "a number of fields that members_of() does not know: add it");
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = o;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

// ---- reading

template <class To, class From>
requires std::is_arithmetic_v<From> || std::is_enum_v<From>
void read(To& to, From from) { to = static_cast<To>(from); }
void read(std::string& to, const flatbuffers::String* from) {
  if (from != nullptr) to = from->str();
}
void read(CustomAttribute& to, const fb::CustomAttribute* from);
template <class To, class From>
void read(std::vector<To>& to, const flatbuffers::Vector<From>* from) {
  for (flatbuffers::uoffset_t i = 0; from != nullptr && i < from->size(); ++i)
    read(to.emplace_back(), from->Get(i));
}
void read(CustomAttribute& to, const fb::CustomAttribute* from) {
  read(to.name, from->name());
  if (from->text() != nullptr)
    read(to.value.emplace<std::string>(), from->text());
  else if (from->numbers() != nullptr)
    read(to.value.emplace<std::vector<float>>(), from->numbers());
  else
    read(to.value.emplace<std::vector<std::int64_t>>(), from->integers());
}

template <class To, class Table, std::size_t... kFields>
To read_fields(const Table& table, std::index_sequence<kFields...>) {
  To to;
  const auto members = members_of<sizeof...(kFields)>(to);
  (read(std::get<kFields>(members), table.template get_field<kFields>()), ...);
  return to;
}

template <std::size_t kKind>
Options read_kind(const fb::Operator& op) {
  if constexpr (kKind == 0) {
    return {};
  } else {
    using Table = std::tuple_element_t<kKind, Tables>;
    static_assert(static_cast<std::size_t>(fb::OptionsTraits<Table>::enum_value) == kKind);
    using To = std::variant_alternative_t<kKind, AnyOptions>;
    return read_fields<To>(*static_cast<const Table*>(op.options()),
                           std::make_index_sequence<Table::Traits::fields_number>());
  }
}

// ---- writing: what a field of a table is given

template <class To, class From>
requires std::is_arithmetic_v<From> || std::is_enum_v<From> To written(FlatBufferBuilder&, From from) {
  return static_cast<To>(from);
}
template <class To, class From>
requires std::is_arithmetic_v<From> To written(FlatBufferBuilder& builder, const std::vector<From>& from) {
  return builder.CreateVector(from);
}

template <class Table, class From, std::size_t... kFields>
WrittenOptions write_fields(FlatBufferBuilder& builder, const From& from, std::index_sequence<kFields...>) {
  // A list is a vector in the file, before its table.
  const auto values = [&]<class... Fields>(Offset<Table> (*create)(FlatBufferBuilder&, Fields...)) {
    const auto members = members_of<sizeof...(kFields)>(from);
    // Braces: from left to right.
    const std::tuple<Fields...> fields{written<Fields>(builder, std::get<kFields>(members))...};
    return create(builder, std::get<kFields>(fields)...);
  };
  return {fb::OptionsTraits<Table>::enum_value, values(Table::Traits::Create).Union()};
}

struct Writer {
  FlatBufferBuilder& builder;

  WrittenOptions operator()(const std::monostate&) const { return {}; }
  template <class From>
  WrittenOptions operator()(const From& from) const {
    using Table = std::tuple_element_t<index_of<From>(static_cast<const AnyOptions*>(nullptr)), Tables>;
    return write_fields<Table>(builder, from, std::make_index_sequence<Table::Traits::fields_number>());
  }
  // Names and attributes are written from the last to the first.
  WrittenOptions operator()(const CustomOptions& from) const {
    const auto attributes = written_attributes(from.attributes);
    const auto name = builder.CreateString(from.name);
    return {fb::Options::CustomOptions, fb::CreateCustomOptions(builder, name, attributes).Union()};
  }
  WrittenOptions operator()(const DelegateOptions& from) const {
    const auto attributes = written_attributes(from.attributes);
    const auto parts = builder.CreateVectorOfStrings(from.parts);
    const auto kind = builder.CreateString(from.kind);
    return {fb::Options::DelegateOptions,
            fb::CreateDelegateOptions(builder, kind, parts, attributes).Union()};
  }
  [[nodiscard]] Offset<flatbuffers::Vector<Offset<fb::CustomAttribute>>> written_attributes(
      const std::vector<CustomAttribute>& list) const {
    std::vector<Offset<fb::CustomAttribute>> attributes;
    for (const CustomAttribute& attribute : list) {
      const auto name = builder.CreateString(attribute.name);
      const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value);
      const auto* numbers = std::get_if<std::vector<float>>(&attribute.value);
      const auto* text = std::get_if<std::string>(&attribute.value);
      const auto written_integers = integers != nullptr ? builder.CreateVector(*integers) : 0;
      const auto written_numbers = numbers != nullptr ? builder.CreateVector(*numbers) : 0;
      const auto written_text = text != nullptr ? builder.CreateString(*text) : 0;
      attributes.push_back(
          fb::CreateCustomAttribute(builder, name, written_integers, written_numbers, written_text));
    }
    return builder.CreateVector(attributes);
  }
};

}  // namespace

Options read_options(const fb::Operator& op) {
  const auto read_it = [&]<std::size_t... kKind>(std::index_sequence<kKind...>) {
    using Read = Options (*)(const fb::Operator&);
    static constexpr Read kReaders[] = {read_kind<kKind>...};
    const auto kind = static_cast<std::size_t>(op.options_type());
    return kind < kKinds ? kReaders[kind](op) : Options();
  };
  return read_it(std::make_index_sequence<kKinds>());
}

WrittenOptions write_options(FlatBufferBuilder& builder, const Options& options) {
  return std::visit(Writer{builder}, options);
}

}  // namespace runnel::compiler
