#pragma once

#include "base/mapped_file.h"

#include <tandem/backend.h>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::testing {

/// One array of a case: the bytes of an `.npy` in C order, or a number.
struct FixtureValue {
  Argument::Kind kind = Argument::Kind::None;
  ScalarType dtype = ScalarType::Float;
  std::vector<std::int64_t> sizes{};
  std::vector<std::byte> bytes{};
  std::int64_t integer = 0;
  double number = 0;
  bool flag = false;
};

/// A fixture's files, found through its dump.json, so that delegates can be tested without the reader and the runtime.
/// Every failure to read one is a failed expectation.
class FixtureFolder final : public NamedData {
 public:
  explicit FixtureFolder(const std::string& name);

  [[nodiscard]] Result<std::span<const std::byte>> find(std::string_view key) const override;
  [[nodiscard]] const nlohmann::json& dump() const noexcept { return dump_; }
  [[nodiscard]] const nlohmann::json& meta() const noexcept { return meta_; }
  /// The execution plan of a method.
  [[nodiscard]] const nlohmann::json& plan(std::string_view method) const;
  /// Payloads of a method's delegates, in their order.
  [[nodiscard]] std::vector<std::string> payloads(std::string_view method) const;
  /// Bytes of the library that the payload names.
  [[nodiscard]] std::span<const std::byte> library(std::string_view payload) const;
  /// `description` is an entry of a case's inputs or outputs.
  [[nodiscard]] FixtureValue read(const nlohmann::json& description) const;

  /// What tests change: entries of their own, or none.
  void replace(const std::string& key, std::vector<std::byte> bytes);
  void remove(const std::string& key) { entries_.erase(key); }

 private:
  std::string folder_;
  nlohmann::json dump_;
  nlohmann::json meta_;
  std::vector<base::MappedFile> files_;
  std::map<std::string, std::vector<std::byte>, std::less<>> own_;
  std::map<std::string, std::span<const std::byte>, std::less<>> entries_;
};

}  // namespace tandem::testing
