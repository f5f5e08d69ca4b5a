#pragma once

#include <array>
#include <atomic>
#include <cstdint>

/// What tests tell the library kernels.cpp, in the blob, and what it tells them.
namespace tandem::testing {

enum class Kernel : std::uint32_t {
  Add,        ///< (x, y): y = x + amount, sizes and strides are x's.
  AddNumber,  ///< (x, number, y): y = x + number.
  Rows,       ///< (x, n, y): y = the first n rows of x, plus amount; the sizes of y follow from n.
  Update,     ///< (x, total, y): total += x; y = total.
  Scratch,    ///< (x, y): y = x + amount, by way of as much scratch as x has bytes.
  Count,      ///< (x, y): y = how many calls the state has seen.
  Swallow,    ///< (x, y): writes nothing where y is None, else as Add.
};

/// What of the library goes wrong.
enum class Fault : std::uint32_t {
  None,
  CreateFails,
  CreateThrows,
  ShapesFail,
  ShapesTooLarge,
  ShapesUntouched,
  ShapesNegative,
  ScratchThrows,
  EnqueueFails,
  EnqueueThrows,
  LongText,       ///< enqueue() fails, and its text has no end.
  SecondDiffers,  ///< The second create() declares other accesses.
};

struct Log {
  std::atomic<int> created{0};
  std::atomic<int> destroyed{0};
  std::atomic<int> shapes{0};
  std::atomic<int> calls{0};
  std::atomic<void*> stream{nullptr};         ///< Of the last create() or enqueue().
  std::atomic<std::int32_t> device_type{-1};  ///< The same.
  std::atomic<bool> blob_is_aligned{false};
};

struct Orders {
  Kernel kernel = Kernel::Add;
  Fault fault = Fault::None;
  float amount = 0;
  std::uint32_t output_count = 1;
  std::array<std::uint8_t, 8> accesses{};
  Log* log = nullptr;
};

}  // namespace tandem::testing
