#pragma once

#include <tandem/backend.h>
#include <tandem/export.h>
#include <tandem/result.h>
#include <tandem/value.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

namespace format {
struct Program;
class DataMap;
}  // namespace format
namespace runtime {
class StateStore;
}  // namespace runtime

/// What the program says about one tensor of a method's interface.
struct TensorInfo {
  ScalarType dtype = ScalarType::Float;
  std::vector<std::int64_t> sizes{};      ///< Upper bounds where `dynamic`.
  std::vector<std::uint8_t> dim_order{};  ///< Axes from outermost to innermost.
  bool dynamic = false;
  std::vector<SizeBounds> bounds{};  ///< Method::meta(), inputs that are `dynamic`: by axis; else empty.
  bool memory_planned = false;       ///< Planned by the exporter, or constant.
  DeviceId device{};                 ///< As tagged in the file.
  std::size_t nbytes = 0;            ///< Of `sizes`.
  std::string name{};                ///< Fully qualified name, if the file has one.
};

/// One input or output of a method.
struct ValueInfo {
  Value::Kind kind = Value::Kind::None;
  TensorInfo tensor{};  ///< Kind Tensor.
  Value traced{};       ///< Other kinds: the value that the exporter saw; inputs must equal it.
};

/// What is known of a method without loading it.
struct MethodMeta {
  std::string name{};
  std::vector<ValueInfo> inputs{};
  std::vector<ValueInfo> outputs{};
  std::vector<std::string> backends{};     ///< Distinct ids, in order of first use.
  std::vector<std::size_t> arena_bytes{};  ///< Memory-planned buffers, without the placeholder.
  std::vector<DeviceId> arena_devices{};
  std::size_t instruction_count = 0;
  std::size_t delegate_count = 0;
  bool fully_async = false;  ///< See is_fully_async().

  /// Whether execute_async() needs no executor: no step or jump on the host waits for work on the device. Known once
  /// the method is loaded (Method::meta()); false before.
  [[nodiscard]] bool is_fully_async() const noexcept { return fully_async; }
  [[nodiscard]] bool uses_backend(std::string_view id) const noexcept {
    for (const std::string& backend : backends) {
      if (backend == id) return true;
    }
    return false;
  }
};

/// A verified `.pte` with its data files.
///
/// Lifetime: the files stay mapped until the last owner is gone; methods share ownership.
/// Thread-safety: immutable; everything may be called from any thread.
class TANDEM_EXPORT Program {
 public:
  /// Maps and verifies `file` and every data file. Weights are neither copied nor touched.
  ///
  /// Errors: NotFound, AccessFailed (a file); InvalidProgram, InvalidExternalData (its contents, with field and
  ///   offset); InvalidArgument (a key in two data files).
  [[nodiscard]] static Result<std::shared_ptr<const Program>> load(
      const std::filesystem::path& file, std::span<const std::filesystem::path> data_files = {});
  /// The same over bytes of the caller's.
  ///
  /// Lifetime: the bytes must outlive the program. `name` stands for the path in errors.
  /// Errors: as above; InvalidArgument, the bytes are not 16-byte aligned.
  [[nodiscard]] static Result<std::shared_ptr<const Program>> from_bytes(
      std::span<const std::byte> bytes, std::span<const std::span<const std::byte>> data_files = {},
      std::string name = "(memory)");

  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] std::vector<std::string> method_names() const;
  /// Errors: MethodNotFound, naming the methods that there are.
  [[nodiscard]] Result<MethodMeta> method_meta(std::string_view method) const;
  /// The path it was loaded from.
  [[nodiscard]] const std::string& name() const noexcept;
  /// The absolute path of the folder that it was loaded from; empty for from_bytes().
  [[nodiscard]] const std::string& folder() const noexcept;
  [[nodiscard]] const NamedData& named_data() const noexcept;

  /// The parsed file, for tools; defined in src/format.
  [[nodiscard]] const format::Program& file() const noexcept;
  [[nodiscard]] const format::DataMap& data() const noexcept;
  /// Watches over methods that are loaded one by one, without a Module; defined in src/runtime.
  [[nodiscard]] const std::shared_ptr<runtime::StateStore>& unshared_states() const noexcept;

 private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
