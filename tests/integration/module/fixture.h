#pragma once

#include "cli/case_folder.h"

#include <tandem/module.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tandem::testing {

/// One recorded program: its files, and the values of its cases.
class Fixture {
 public:
  explicit Fixture(const std::string& name) : root_{std::filesystem::path{TANDEM_FIXTURES} / name} {
    auto folder = cli::read_case_folder(root_);
    EXPECT_TRUE(folder.ok()) << folder.error().to_string();
    if (folder.ok()) folder_ = *std::move(folder);
  }

  [[nodiscard]] const std::filesystem::path& program() const { return folder_.program; }
  [[nodiscard]] const std::vector<std::filesystem::path>& data_files() const { return folder_.data_files; }

  [[nodiscard]] std::vector<Value> inputs(const std::string& method, std::size_t index, std::int64_t call = 0) const {
    return values(find(method).cases[index], find(method).cases[index].inputs, call);
  }
  [[nodiscard]] std::vector<Value> outputs(const std::string& method, std::size_t index, std::int64_t call = 0) const {
    return values(find(method).cases[index], find(method).cases[index].outputs, call);
  }
  [[nodiscard]] std::vector<Value> bad_inputs(const std::string& method) const {
    return values({}, find(method).failures.front().inputs, 0);
  }
  [[nodiscard]] bool has_method(const std::string& method) const {
    return std::ranges::find(folder_.methods, method, &cli::CaseMethod::name) != folder_.methods.end();
  }
  [[nodiscard]] std::size_t case_count(const std::string& method) const { return find(method).cases.size(); }

  /// Whether every output is within the case's tolerance.
  void expect_outputs(const std::string& method, std::size_t index, const std::vector<Value>& found,
                      std::int64_t call = 0) const {
    const std::vector<Value> expected = outputs(method, index, call);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto compared = cli::compare(found[i], expected[i], find(method).cases[index].tolerance);
      EXPECT_TRUE(compared.matched) << method << " case " << index << " output " << i << ": " << compared.reason;
    }
  }

 private:
  [[nodiscard]] const cli::CaseMethod& find(const std::string& method) const {
    for (const cli::CaseMethod& known : folder_.methods) {
      if (known.name == method) return known;
    }
    ADD_FAILURE() << "no recorded method " << method;
    return folder_.methods.front();
  }
  [[nodiscard]] std::vector<Value> values(const cli::Case& of, const std::vector<cli::CaseValue>& described,
                                          std::int64_t call) const {
    auto loaded = cli::load_values(root_, described);
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
    auto row = cli::values_of_call(*loaded, described, of.repeat != 0, call);
    EXPECT_TRUE(row.ok()) << row.error().to_string();
    return *std::move(row);
  }

  std::filesystem::path root_;
  cli::CaseFolder folder_{};
};

}  // namespace tandem::testing
