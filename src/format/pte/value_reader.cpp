#include "format/pte/value_reader.h"

#include <utility>

namespace tandem::format {
namespace {

constexpr std::int32_t kNone = -1;

class ValueReader {
 public:
  ValueReader(TableReader& reader, const FieldPath& plan, const ValueTables& tables, const TensorMemory& memory)
      : reader_{reader}, fault_{reader.fault()}, plan_{plan}, tables_{tables}, memory_{memory} {}

  Result<std::vector<ValueSpec>> read() {
    values_.reserve(tables_.size());
    while (values_.size() < tables_.size()) {
      auto value = read_next();
      if (!value.ok()) return std::move(value).error().with_value(static_cast<int>(values_.size()));
      values_.push_back(*std::move(value));
    }
    return std::move(values_);
  }

 private:
  Result<ValueSpec> read_next() {
    const auto index = static_cast<flatbuffers::uoffset_t>(values_.size());
    const schema::EValue& table = *tables_[index];
    const FieldPath field = plan_.child("values", index);
    // Of an unknown kind the verifier has checked nothing, so the kind comes first.
    if (table.val_type() == schema::KernelTypes::NONE || table.val_type() > schema::KernelTypes::MAX) {
      return fault_(field.child("val_type"), &table, "no such kind of value")
          .with_expected("1..11", fmt::to_string(static_cast<int>(table.val_type())));
    }
    TANDEM_CHECK_OK(reader_.require(field.child("val"), &table, table.val()));
    switch (table.val_type()) {
      case schema::KernelTypes::NONE:
      case schema::KernelTypes::Null:
        return ValueSpec{};
      case schema::KernelTypes::Int:
        return ValueSpec{std::int64_t{table.val_as_Int()->int_val()}};
      case schema::KernelTypes::Bool:
        return ValueSpec{table.val_as_Bool()->bool_val()};
      case schema::KernelTypes::Double:
        return ValueSpec{table.val_as_Double()->double_val()};
      case schema::KernelTypes::Tensor:
        return wrap(read_tensor(reader_, field, *table.val_as_Tensor(), memory_));
      case schema::KernelTypes::String: {
        const schema::String& text = *table.val_as_String();
        return wrap(reader_.text(field.child("string_val"), &text, text.string_val()));
      }
      case schema::KernelTypes::IntList:
        return wrap(read_int_list(field, *table.val_as_IntList()));
      case schema::KernelTypes::DoubleList: {
        const schema::DoubleList& list = *table.val_as_DoubleList();
        TANDEM_TRY(auto items, reader_.list<double>(field.child("items"), &list, list.items()));
        return ValueSpec{DoubleList{std::move(items)}};
      }
      case schema::KernelTypes::BoolList: {
        const schema::BoolList& list = *table.val_as_BoolList();
        TANDEM_TRY(auto items, reader_.list<std::uint8_t>(field.child("items"), &list, list.items()));
        for (std::uint8_t& item : items) item = item != 0 ? 1 : 0;
        return ValueSpec{BoolList{std::move(items)}};
      }
      case schema::KernelTypes::TensorList:
        return wrap(read_tensor_list(field, *table.val_as_TensorList()));
      case schema::KernelTypes::OptionalTensorList:
        return wrap(read_optional_tensor_list(field, *table.val_as_OptionalTensorList()));
    }
    return fault_(field, &table, "no such kind of value");
  }

  template <class T>
  static Result<ValueSpec> wrap(Result<T> result) {
    if (!result.ok()) return std::move(result).error();
    return ValueSpec{*std::move(result)};
  }

  Result<IntList> read_int_list(const FieldPath& field, const schema::IntList& list) {
    IntList out;
    TANDEM_TRY(out.items, reader_.indices(field, "items", &list, list.items(), tables_.size(), "values"));
    for (std::size_t i = 0; i < out.items.size(); ++i) {
      // An Int may come behind the list: its number is read when the list is used.
      const auto item = static_cast<flatbuffers::uoffset_t>(out.items[i]);
      if (tables_[item]->val_type() != schema::KernelTypes::Int) return wrong_kind(field, list, i, item, "an Int");
    }
    return out;
  }

  Result<TensorList> read_tensor_list(const FieldPath& field, const schema::TensorList& list) {
    TensorList out;
    TANDEM_TRY(out.items,
               reader_.indices(field, "items", &list, list.items(), values_.size(), "values before the list"));
    for (std::size_t i = 0; i < out.items.size(); ++i) {
      const auto item = static_cast<std::size_t>(out.items[i]);
      if (!std::holds_alternative<Tensor>(values_[item])) return wrong_kind(field, list, i, item, "a Tensor");
    }
    return out;
  }

  Result<OptionalTensorList> read_optional_tensor_list(const FieldPath& field, const schema::OptionalTensorList& list) {
    OptionalTensorList out;
    TANDEM_TRY(out.items, reader_.list<std::int32_t>(field.child("items"), &list, list.items()));
    for (std::size_t i = 0; i < out.items.size(); ++i) {
      if (out.items[i] == kNone) continue;
      TANDEM_CHECK_OK(reader_.check_index(field.child("items", i), list.items(), out.items[i], values_.size(),
                                          "values before the list (-1 is None)"));
      const auto item = static_cast<std::size_t>(out.items[i]);
      if (std::holds_alternative<std::monostate>(values_[item])) {
        out.items[i] = kNone;
      } else if (!std::holds_alternative<Tensor>(values_[item])) {
        return wrong_kind(field, list, i, item, "a Tensor or None");
      }
    }
    return out;
  }

  template <class List>
  Error wrong_kind(const FieldPath& field, const List& list, std::size_t i, std::size_t item,
                   std::string_view expected) const {
    const auto kind = tables_[static_cast<flatbuffers::uoffset_t>(item)]->val_type();
    return fault_(field.child("items", i), list.items(), "the list names a value of another kind")
        .with_expected(std::string{expected}, fmt::format("value {}, {}", item, schema::EnumNameKernelTypes(kind)));
  }

  TableReader& reader_;
  const FaultMaker& fault_;
  const FieldPath& plan_;
  const ValueTables& tables_;
  const TensorMemory& memory_;
  std::vector<ValueSpec> values_{};
};

}  // namespace

Result<std::vector<ValueSpec>> read_values(TableReader& reader, const FieldPath& plan, const ValueTables& tables,
                                           const TensorMemory& memory) {
  return ValueReader{reader, plan, tables, memory}.read();
}

}  // namespace tandem::format
