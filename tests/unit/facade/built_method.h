#pragma once

#include <tandem/module.h>
#include <tandem/program_builder.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem::testing {

/// A built program in memory, loaded. A failure to build or load is a failed expectation.
class BuiltModule {
 public:
  explicit BuiltModule(const ProgramBuilder& builder, MethodOptions options = {}) {
    auto built = builder.build();
    EXPECT_TRUE(built.ok()) << built.error().to_string();
    if (!built.ok()) return;
    files_ = *std::move(built);
    std::vector<std::span<const std::byte>> data;
    if (!files_.ptd.empty()) data.emplace_back(files_.ptd);
    auto program = Program::from_bytes(files_.pte, data);
    EXPECT_TRUE(program.ok()) << program.error().to_string();
    if (!program.ok()) return;
    program_ = *std::move(program);
    module_ = std::make_unique<Module>(program_, std::move(options));
  }

  [[nodiscard]] bool ok() const { return module_ != nullptr; }
  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const BuiltProgram& files() const { return files_; }

  /// The floats of the first output; empty after a failed expectation.
  [[nodiscard]] std::vector<float> run(const std::string& method, std::vector<std::int64_t> sizes,
                                       const std::vector<float>& elements) {
    if (!ok()) return {};
    const auto input = Tensor::empty(ScalarType::Float, sizes);
    EXPECT_TRUE(input.ok());
    EXPECT_EQ(static_cast<std::size_t>(input->numel()), elements.size());
    std::ranges::copy(elements, input->data_as<float>());
    const auto output = module_->get(method, {*input});
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    if (!output.ok()) return {};
    const Tensor& tensor = output->tensor();
    return {tensor.data_as<float>(), tensor.data_as<float>() + tensor.numel()};
  }

 private:
  BuiltProgram files_{};
  std::shared_ptr<const Program> program_{};
  std::unique_ptr<Module> module_{};
};

}  // namespace tandem::testing
