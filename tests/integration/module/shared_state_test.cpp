#include "support/file_builder.h"

#include <tandem/module.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tandem {
namespace {

namespace schema = format::schema;

template <class Kind>
std::unique_ptr<schema::EValueT> value(Kind kind) {
  auto out = std::make_unique<schema::EValueT>();
  out->val.Set(std::move(kind));
  return out;
}

schema::TensorT float_tensor(std::uint32_t memory_id, std::uint32_t offset, const char* name = nullptr) {
  schema::TensorT out;
  out.scalar_type = static_cast<std::int8_t>(ScalarType::Float);
  out.sizes = {1};
  out.dim_order = {0};
  out.allocation_info = std::make_unique<schema::AllocationDetailsT>();
  out.allocation_info->memory_id = memory_id;
  out.allocation_info->memory_offset_low = offset;
  if (name != nullptr) {
    out.extra_tensor_info = std::make_unique<schema::ExtraTensorInfoT>();
    out.extra_tensor_info->fully_qualified_name = name;
  }
  return out;
}

std::unique_ptr<schema::InstructionT> kernel(std::int32_t op, std::vector<std::int32_t> args) {
  schema::KernelCallT call;
  call.op_index = op;
  call.args = std::move(args);
  auto out = std::make_unique<schema::InstructionT>();
  out->instr_args.Set(std::move(call));
  return out;
}

std::unique_ptr<schema::OperatorT> op(const char* name, const char* overload) {
  auto out = std::make_unique<schema::OperatorT>();
  out->name = name;
  out->overload = overload;
  return out;
}

/// y = buffer + x; buffer = y. The buffer lies in arena `memory_id`.
std::unique_ptr<schema::ExecutionPlanT> accumulate(const char* name, std::uint32_t memory_id) {
  auto plan = std::make_unique<schema::ExecutionPlanT>();
  plan->name = name;
  plan->container_meta_type = std::make_unique<schema::ContainerMetadataT>();
  plan->non_const_buffer_sizes = {0, 256, 256};
  plan->values.push_back(value(float_tensor(memory_id, 64, "total")));
  plan->values.push_back(value(float_tensor(1, 128)));
  plan->values.push_back(value(float_tensor(1, 192)));
  schema::IntT one;
  one.int_val = 1;
  plan->values.push_back(value(one));
  plan->values.push_back(value(schema::BoolT{}));
  plan->inputs = {1};
  plan->outputs = {2};
  plan->operators.push_back(op("aten::add", "out"));
  plan->operators.push_back(op("aten::copy_", ""));
  auto chain = std::make_unique<schema::ChainT>();
  chain->instructions.push_back(kernel(0, {0, 1, 3, 2, 2}));
  chain->instructions.push_back(kernel(1, {0, 2, 4, 0}));
  plan->chains.push_back(std::move(chain));
  return plan;
}

/// buffer = x; y = x.
std::unique_ptr<schema::ExecutionPlanT> store(const char* name, std::uint32_t memory_id) {
  std::unique_ptr<schema::ExecutionPlanT> plan = accumulate(name, memory_id);
  plan->operators[0] = op("aten::clone", "out");
  plan->chains[0]->instructions[0] = kernel(0, {1, 5, 2, 2});
  plan->chains[0]->instructions[1] = kernel(1, {0, 1, 4, 0});
  plan->values.push_back(value(schema::NullT{}));
  return plan;
}

testing::FileBytes two_methods(std::uint32_t memory_id) {
  schema::ProgramT program;
  program.execution_plan.push_back(accumulate("first", memory_id));
  program.execution_plan.push_back(accumulate("second", memory_id));
  return testing::pte_file(program);
}

float run(Module& module, const char* method, float x) {
  const auto input = Tensor::from_blob(&x, ScalarType::Float, std::array<std::int64_t, 1>{1});
  const auto output = module.get(method, {*input});
  EXPECT_TRUE(output.ok()) << output.error().to_string();
  return output.ok() ? *output->tensor().data_as<float>() : -1;
}

TEST(SharedStateTest, MethodsOfOneModuleShareTheSharedArena) {
  const testing::FileBytes file = two_methods(2);
  const auto program = Program::from_bytes(file.bytes());
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  Module module{*program};
  EXPECT_EQ(run(module, "first", 1), 1);
  EXPECT_EQ(run(module, "second", 2), 3);
  EXPECT_EQ(run(module, "first", 4), 7);
  EXPECT_TRUE(module.unload_method("first"));
  EXPECT_EQ(run(module, "first", 1), 8);  // the buffer outlives its methods
  Module other{*program};
  EXPECT_EQ(run(other, "first", 1), 1);
}

TEST(SharedStateTest, AMethodThatOnlyWritesTheBufferWritesItForTheOthers) {
  schema::ProgramT both;
  both.execution_plan.push_back(accumulate("accumulate", 2));
  both.execution_plan.push_back(store("store", 2));
  const testing::FileBytes file = testing::pte_file(both);
  const auto program = Program::from_bytes(file.bytes());
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  Module module{*program};
  EXPECT_EQ(run(module, "store", 5), 5);
  EXPECT_EQ(run(module, "accumulate", 2), 7);
  EXPECT_EQ(run(module, "store", 1), 1);
  EXPECT_EQ(run(module, "accumulate", 2), 3);
}

TEST(SharedStateTest, OtherArenasAreEveryMethodsOwn) {
  const testing::FileBytes file = two_methods(1);
  const auto program = Program::from_bytes(file.bytes());
  ASSERT_TRUE(program.ok()) << program.error().to_string();
  Module module{*program};
  EXPECT_EQ(run(module, "first", 1), 1);
  EXPECT_EQ(run(module, "second", 2), 2);
  EXPECT_EQ(run(module, "first", 4), 5);
}

TEST(SharedStateTest, ThreadsOnTwoMethodsLoseNoUpdate) {
  const testing::FileBytes file = two_methods(2);
  const auto program = Program::from_bytes(file.bytes());
  ASSERT_TRUE(program.ok());
  Module module{*program};
  constexpr int kRuns = 200;
  {
    std::vector<std::jthread> threads;
    for (const char* method : {"first", "second", "first", "second"}) {
      threads.emplace_back([&module, method] {
        const auto loaded = module.method(method);
        ASSERT_TRUE(loaded.ok());
        float one = 1;
        const std::array<Value, 1> inputs{*Tensor::from_blob(&one, ScalarType::Float, std::array<std::int64_t, 1>{1})};
        for (int k = 0; k < kRuns; ++k) ASSERT_TRUE((*loaded)->execute(inputs).ok());
      });
    }
  }
  EXPECT_EQ(run(module, "first", 0), 4 * kRuns);
}

}  // namespace
}  // namespace tandem
