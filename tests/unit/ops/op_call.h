#pragma once

#include <tandem/argument.h>
#include <tandem/backend.h>
#include <tandem/result.h>
#include <tandem/scalar_type.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::testing {

/// One value of a program, with what the program's bytes would tell of it. Copies share the value.
class Value {
 public:
  Value() : Value{Argument::Kind::None} {}
  Value(std::int64_t number);                         // NOLINT(google-explicit-constructor)
  Value(int number) : Value{std::int64_t{number}} {}  // NOLINT
  Value(double number);                               // NOLINT
  Value(bool flag);                                   // NOLINT
  Value(const char* text);                            // NOLINT

  [[nodiscard]] Argument& argument() const noexcept;
  [[nodiscard]] ArgumentSpec& spec() const noexcept;
  [[nodiscard]] TensorArg& tensor() const noexcept { return argument().tensor; }
  [[nodiscard]] std::vector<std::int64_t> sizes() const;
  [[nodiscard]] std::vector<std::int64_t> strides() const;
  /// Elements in row-major order of the indices.
  [[nodiscard]] std::vector<double> values() const;
  [[nodiscard]] std::vector<std::int64_t> integers() const;

 private:
  struct State;
  explicit Value(Argument::Kind kind);

  std::shared_ptr<State> state_;
  friend Value make_tensor(ScalarType, std::vector<std::int64_t>, std::vector<std::uint8_t>, bool);
  friend Value strided(ScalarType, std::vector<std::int64_t>, std::vector<std::int64_t>, std::vector<double>);
  friend Value boxed(Argument::Kind, std::vector<Value>, std::vector<bool>);
  friend Value doubles(std::vector<double>);
};

inline const Value kNone{};

/// A tensor of exactly the bytes it needs, all 0xA5, so that a sanitizer sees what is read or written beside it.
/// `order` empty is row-major. A dynamic one may be resized below `sizes`.
[[nodiscard]] Value make_tensor(ScalarType dtype, std::vector<std::int64_t> sizes, std::vector<std::uint8_t> order = {},
                                bool dynamic = false);
/// A tensor with the elements given in row-major order of the indices.
[[nodiscard]] Value tensor(ScalarType dtype, std::vector<std::int64_t> sizes, std::vector<double> elements,
                           std::vector<std::uint8_t> order = {});
[[nodiscard]] Value floats(std::vector<std::int64_t> sizes, std::vector<double> elements);
[[nodiscard]] Value longs(std::vector<std::int64_t> sizes, std::vector<std::int64_t> elements);
[[nodiscard]] Value bools(std::vector<std::int64_t> sizes, std::vector<double> elements);
/// A tensor over `memory` with strides of its own, as a delegate may return it.
[[nodiscard]] Value strided(ScalarType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                            std::vector<double> memory);
/// 0, 1, 2, ... in row-major order.
[[nodiscard]] Value iota(std::vector<std::int64_t> sizes, ScalarType dtype = ScalarType::Float,
                         std::vector<std::uint8_t> order = {});

[[nodiscard]] Value boxed(Argument::Kind kind, std::vector<Value> items, std::vector<bool> present);
[[nodiscard]] Value ints(std::vector<Value> items);
[[nodiscard]] Value doubles(std::vector<double> numbers);
[[nodiscard]] Value tensors(std::vector<Value> items);
/// kNone stands for no tensor.
[[nodiscard]] Value optional_tensors(std::vector<Value> items);

/// Finds a built-in operator, has it accept the arguments, runs it.
[[nodiscard]] Status call(std::string_view name, const std::vector<Value>& arguments);
/// Only `accept`.
[[nodiscard]] Status accept(std::string_view name, const std::vector<Value>& arguments);
/// Only `run`, for what computed numbers bring about after the check.
[[nodiscard]] Status run(std::string_view name, const std::vector<Value>& arguments);

inline constexpr ScalarType kIntegerTypes[] = {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int,
                                               ScalarType::Long};
inline constexpr ScalarType kFloatTypes[] = {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float,
                                             ScalarType::Double};
inline constexpr ScalarType kNumberTypes[] = {ScalarType::Byte,     ScalarType::Char,  ScalarType::Short,
                                              ScalarType::Int,      ScalarType::Long,  ScalarType::Half,
                                              ScalarType::BFloat16, ScalarType::Float, ScalarType::Double};

}  // namespace tandem::testing

/// The status is an Error of this code, and its text has the piece.
#define EXPECT_REFUSED(status, wanted, piece)                                                 \
  do {                                                                                        \
    const ::tandem::Status refused_status = (status);                                         \
    ASSERT_FALSE(refused_status.ok()) << "nothing was refused";                               \
    EXPECT_EQ(refused_status.error().code(), (wanted)) << refused_status.error().to_string(); \
    EXPECT_THAT(refused_status.error().to_string(), ::testing::HasSubstr(piece));             \
  } while (false)

#define ASSERT_OK(status)                                         \
  do {                                                            \
    const ::tandem::Status ok_status = (status);                  \
    ASSERT_TRUE(ok_status.ok()) << ok_status.error().to_string(); \
  } while (false)
