#include "format/pte/pte.h"
#include "support/built_programs.h"
#include "support/temporary_folder.h"
#include "unit/facade/built_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>

/// What the files of built programs say.
namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::string_view_literals;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Kind>
const Kind& value_of(const format::Method& method, BuilderHandle handle) {
  return std::get<Kind>(method.values.at(static_cast<std::size_t>(handle.index)));
}

TEST(BuiltFile, EqualCallsGiveEqualBytes) {
  const auto first = dynamic_program().build();
  const auto second = dynamic_program().build();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->pte, second->pte);
  EXPECT_EQ(first->ptd, second->ptd);
}

TEST(BuiltFile, CallsMayFollowABuild) {
  ProgramBuilder program = sum_program();
  const auto before = program.build();
  ASSERT_TRUE(before.ok());
  EXPECT_THAT(before->ptd, IsEmpty());
  MethodBuilder& m = program.method("second");
  m.outputs({m.number(7)});
  const BuiltModule module{program};
  EXPECT_THAT(module.program().method_names(), ElementsAre("forward", "second"));
}

TEST(BuiltFile, MethodsOutliveAMoveOfTheBuilder) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  ProgramBuilder moved{std::move(program)};
  m.outputs({m.number(7)});
  const BuiltModule module{moved};
  EXPECT_THAT(module.program().file().methods[0].values, SizeIs(1));
}

TEST(BuiltFile, HasValuesOfEveryKind) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto tensor = m.tensor({.sizes = {2, 3},
                                .dtype = ScalarType::Half,
                                .dim_order = {1, 0},
                                .dynamic = true,
                                .memory = PlannedMemory{.arena = 3, .offset = 40},
                                .device = {DeviceType::Cuda, 1},
                                .name = "block.weight"});
  const auto scalar = m.tensor({}, ScalarType::Long);
  const auto number = m.number(-5);
  const auto real = m.real(2.5);
  const auto flag = m.flag(true);
  const auto text = m.text("tanh");
  const auto none = m.none();
  const auto ints = m.int_list({4, 5});
  const auto doubles = m.double_list({0.5, 1.5});
  const auto bools = m.bool_list({true, false});
  const auto tensors = m.tensor_list({tensor, scalar});
  const auto optional = m.optional_tensor_list({std::nullopt, tensor});
  m.arena(3, {DeviceType::Cuda, 1}).arena(1, {}, 1000);
  const BuiltModule module{program};
  ASSERT_TRUE(module.ok());
  const format::Method& method = module.program().file().methods[0];

  const auto& stored = value_of<format::Tensor>(method, tensor);
  EXPECT_EQ(stored.dtype, ScalarType::Half);
  EXPECT_THAT(stored.sizes, ElementsAre(2, 3));
  EXPECT_THAT(stored.dim_order, ElementsAre(1, 0));
  EXPECT_EQ(stored.dynamism, format::ShapeDynamism::DynamicBound);
  EXPECT_EQ(stored.allocation->memory_id, 3U);
  EXPECT_EQ(stored.allocation->offset, 40U);
  EXPECT_EQ(stored.device, (DeviceId{DeviceType::Cuda, 1}));
  EXPECT_EQ(stored.name, "block.weight");
  EXPECT_THAT(value_of<format::Tensor>(method, scalar).sizes, IsEmpty());
  EXPECT_EQ(value_of<std::int64_t>(method, number), -5);
  EXPECT_EQ(value_of<double>(method, real), 2.5);
  EXPECT_TRUE(value_of<bool>(method, flag));
  EXPECT_EQ(value_of<std::string_view>(method, text), "tanh");
  EXPECT_NO_THROW(value_of<std::monostate>(method, none));
  EXPECT_THAT(value_of<format::IntList>(method, ints).items, ElementsAre(ints.index - 2, ints.index - 1));
  EXPECT_THAT(value_of<format::DoubleList>(method, doubles).items, ElementsAre(0.5, 1.5));
  EXPECT_THAT(value_of<format::BoolList>(method, bools).items, ElementsAre(1, 0));
  EXPECT_THAT(value_of<format::TensorList>(method, tensors).items, ElementsAre(tensor.index, scalar.index));
  EXPECT_THAT(value_of<format::OptionalTensorList>(method, optional).items, ElementsAre(-1, tensor.index));

  ASSERT_THAT(method.arenas, SizeIs(4));
  EXPECT_EQ(method.arenas[1].bytes, 1000U);
  EXPECT_EQ(method.arenas[2].bytes, 0U);
  EXPECT_EQ(method.arenas[3].bytes, 52U);
  EXPECT_EQ(method.arenas[3].device, (DeviceId{DeviceType::Cuda, 1}));
}

TEST(BuiltFile, HasInstructionsOfEveryKind) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  const auto x = m.tensor({1}), y = m.tensor({1});
  const auto flag = m.flag(false);
  const auto delegate = m.delegate({.id = "SomeBackend"});
  const auto end = m.label();
  m.jump_if_false(flag, end)
      .kernel("aten::relu.out", {x, y, y})
      .call(delegate, {x, y})
      .move(x, y)
      .kernel("aten::relu.out", {y, x, x})
      .place(end)
      .free(x);
  const BuiltModule module{program};
  ASSERT_TRUE(module.ok());
  const format::Method& method = module.program().file().methods[0];
  const auto& steps = method.chains.at(0).instructions;
  ASSERT_THAT(steps, SizeIs(6));
  EXPECT_EQ(std::get<format::JumpFalseCall>(steps[0]).condition, flag.index);
  EXPECT_EQ(std::get<format::JumpFalseCall>(steps[0]).destination, 5U);
  EXPECT_THAT(std::get<format::KernelCall>(steps[1]).args, ElementsAre(x.index, y.index, y.index));
  EXPECT_THAT(std::get<format::DelegateCall>(steps[2]).args, ElementsAre(x.index, y.index));
  EXPECT_EQ(std::get<format::MoveCall>(steps[3]).to, y.index);
  EXPECT_EQ(std::get<format::KernelCall>(steps[4]).op, std::get<format::KernelCall>(steps[1]).op);
  EXPECT_EQ(std::get<format::FreeCall>(steps[5]).value, x.index);
  ASSERT_THAT(method.operators, SizeIs(1));
  EXPECT_EQ(method.operators[0].name, "aten::relu");
  EXPECT_EQ(method.operators[0].overload, "out");
}

TEST(BuiltFile, HasPayloadsInSegmentsAndInTheBody) {
  ProgramBuilder program;
  MethodBuilder& m = program.method("forward");
  static_cast<void>(m.delegate({.id = "A", .payload = bytes_of("segment"), .compile_specs = {{"key", "value"}}}));
  static_cast<void>(m.delegate({.id = "B", .payload = bytes_of("inline"), .inline_payload = true}));
  static_cast<void>(m.delegate({.id = "C"}));
  static_cast<void>(m.delegate({.id = "D", .payload = bytes_of("segment")}));
  const BuiltModule module{program};
  ASSERT_TRUE(module.ok());
  const auto& delegates = module.program().file().methods[0].delegates;
  ASSERT_THAT(delegates, SizeIs(4));
  EXPECT_EQ(text_of(delegates[0].payload), "segment");
  EXPECT_FALSE(delegates[0].inline_payload);
  EXPECT_EQ(delegates[0].compile_specs.at(0).key, "key");
  EXPECT_EQ(text_of(delegates[1].payload), "inline");
  EXPECT_TRUE(delegates[1].inline_payload);
  EXPECT_TRUE(delegates[2].inline_payload);
  EXPECT_EQ(delegates[3].payload_index, delegates[0].payload_index) << "equal payloads share a segment";
}

TEST(BuiltFile, SharesEqualConstants) {
  ProgramBuilder program;
  for (const char* name : {"first", "second"}) {
    MethodBuilder& m = program.method(name);
    m.constant({2}, {1, 2});
    m.constant({1}, {1});
    m.constant({.sizes = {8}, .dtype = ScalarType::Byte}, bytes_of("\0\0\x80\x3f\0\0\0\x40"sv));
  }
  const BuiltModule module{program};
  ASSERT_TRUE(module.ok());
  EXPECT_THAT(module.program().file().constant_segment->offsets, ElementsAre(0, 0, 16));
}

TEST(BuiltFile, NamedDataLiesAligned) {
  ProgramBuilder program;
  program.method("forward");
  program.named_data("a", bytes_of("one")).named_data("b", bytes_of("two"), 4096).named_data("c", bytes_of("one"), 512);
  const BuiltModule module{program};
  ASSERT_TRUE(module.ok());
  const auto offset_of = [&](const char* key) {
    const auto found = module.program().named_data().find(key);
    EXPECT_TRUE(found.ok());
    return found->data() - module.files().pte.data();
  };
  EXPECT_EQ(text_of(*module.program().named_data().find("b")), "two");
  EXPECT_EQ(offset_of("b") % 4096, 0);
  EXPECT_EQ(offset_of("a"), offset_of("c")) << "equal bytes share a segment";
  EXPECT_EQ(offset_of("a") % 512, 0);
}

TEST(BuiltFile, ExternalDataIsInTheDataFile) {
  ProgramBuilder program;
  program.method("forward");
  program.external_data("blob", bytes_of("opaque"), 4096);
  const BuiltModule module{program};
  ASSERT_TRUE(module.ok());
  const auto found = module.program().named_data().find("blob");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(text_of(*found), "opaque");
  EXPECT_EQ((found->data() - module.files().ptd.data()) % 4096, 0);
}

TEST(BuiltFile, OptionsAlign) {
  ProgramBuilder program{{.segment_alignment = 16, .constant_tensor_alignment = 64, .delegate_alignment = 256}};
  MethodBuilder& m = program.method("forward");
  m.constant({1}, {1});
  m.constant({1}, {2});
  static_cast<void>(m.delegate({.id = "A", .payload = bytes_of("payload")}));
  const BuiltModule module{program};
  ASSERT_TRUE(module.ok());
  const format::Program& file = module.program().file();
  EXPECT_THAT(file.constant_segment->offsets, ElementsAre(0, 0, 64));
  EXPECT_EQ(file.segments.at(1).offset % 256, 0U);
}

std::vector<std::byte> contents(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const auto bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

TEST(SavedFile, IsWhatWasBuilt) {
  const testing::TemporaryFolder folder;
  const ProgramBuilder program = dynamic_program();
  const Status saved = program.save(folder.path() / "a.pte", folder.path() / "a.ptd");
  ASSERT_TRUE(saved.ok()) << saved.error().to_string();
  const auto built = program.build();
  EXPECT_EQ(contents(folder.path() / "a.pte"), built->pte);
  EXPECT_EQ(contents(folder.path() / "a.ptd"), built->ptd);
}

TEST(SavedFile, ErrorsNameThePath) {
  const testing::TemporaryFolder folder;
  const Status no_data_path = dynamic_program().save(folder.path() / "a.pte");
  ASSERT_FALSE(no_data_path.ok());
  EXPECT_EQ(no_data_path.error().code(), ErrorCode::InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.pte"));
  const auto missing = folder.path() / "none" / "a.pte";
  const Status no_folder = sum_program().save(missing);
  ASSERT_FALSE(no_folder.ok());
  EXPECT_EQ(no_folder.error().code(), ErrorCode::NotFound);
  EXPECT_EQ(no_folder.error().site().file, missing.string());
  const Status full = sum_program().save("/dev/full");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code(), ErrorCode::AccessFailed);
}

}  // namespace
}  // namespace tandem::testing
