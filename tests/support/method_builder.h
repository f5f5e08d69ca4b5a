#pragma once

#include "format/data_map.h"
#include "format/pte/pte.h"
#include "runtime/lower/lower.h"

#include <tandem/backend.h>
#include <tandem/value.h>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace tandem::testing {

/// Named data with nothing in it.
class NoNamedData final : public NamedData {
 public:
  [[nodiscard]] Result<std::span<const std::byte>> find(std::string_view key) const override {
    return Error{ErrorCode::NotFound, "no data"}.with_key(std::string{key});
  }
};

/// Builds the parsed form of a program with one method, without a file.
///
/// Tensors are float unless said otherwise; `offset` is in arena 1. Functions return value indices.
class MethodBuilder {
 public:
  static constexpr std::int64_t kUnplanned = -1;

  MethodBuilder();

  std::int32_t tensor(std::vector<std::int64_t> sizes, std::int64_t offset = kUnplanned, bool dynamic = false,
                      ScalarType dtype = ScalarType::Float, std::uint32_t memory_id = 1);
  std::int32_t constant(const std::vector<float>& values);
  std::int32_t state(std::vector<std::int64_t> sizes, std::int64_t offset, const std::vector<float>& initial,
                     std::uint32_t memory_id = 1);
  std::int32_t number(std::int64_t value);
  std::int32_t flag(bool value);
  std::int32_t numbers(std::vector<std::int32_t> items);
  std::int32_t tensors(std::vector<std::int32_t> items);

  MethodBuilder& inputs(std::vector<std::int32_t> values);
  MethodBuilder& outputs(std::vector<std::int32_t> values);
  /// `name` is "namespace::op.overload"; the wire's return value is up to the caller.
  MethodBuilder& kernel(const std::string& name, std::vector<std::int32_t> args);
  /// A call of a delegate of its own.
  MethodBuilder& delegate(const std::string& id, std::vector<std::int32_t> args);
  /// Another call of delegate `index`.
  MethodBuilder& call(std::uint32_t index, std::vector<std::int32_t> args);
  MethodBuilder& move(std::int32_t from, std::int32_t to);
  MethodBuilder& jump_if_false(std::int32_t condition, std::uint32_t destination);
  MethodBuilder& free(std::int32_t value);
  MethodBuilder& next_chain();

  format::Program program{};
  BackendRegistry backends{};
  NoNamedData named_data{};
  format::DataMap data{};

  [[nodiscard]] format::Method& method() { return program.methods.front(); }
  [[nodiscard]] runtime::LowerInput lower_input();
  [[nodiscard]] Result<std::unique_ptr<runtime::Schedule>> lower() { return runtime::lower(lower_input()); }

 private:
  std::int32_t add(format::ValueSpec value);
  MethodBuilder& instruction(format::Instruction instruction);
  std::string_view keep(std::string text);

  std::deque<std::string> texts_{};
  std::deque<std::vector<float>> floats_{};
};

/// What a run does, from the parsed form to the outputs: lower, bind, set inputs, walk, collect.
class TestRun {
 public:
  explicit TestRun(MethodBuilder& builder);
  ~TestRun();

  /// The error of lowering or binding, if there was one.
  [[nodiscard]] const Status& loaded() const { return loaded_; }
  [[nodiscard]] Result<std::vector<Value>> run(const std::vector<Value>& inputs, const std::vector<Tensor>& bound = {});
  [[nodiscard]] Status run_into(const std::vector<Value>& inputs, std::vector<Value>& outputs,
                                const std::vector<Tensor>& bound = {});
  /// The floats of output `index` of a run that must succeed.
  [[nodiscard]] std::vector<float> floats(const std::vector<Value>& inputs, std::size_t index = 0);
  [[nodiscard]] const runtime::Schedule& schedule() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  Status loaded_;
};

[[nodiscard]] Value floats(std::vector<std::int64_t> sizes, const std::vector<float>& values);
[[nodiscard]] std::vector<float> to_floats(const Value& value);

}  // namespace tandem::testing
