#include "backends/aoti/input_checks.h"

#include "backends/aoti/aoti_backend.h"
#include "delegate_model.h"
#include "library_files.h"

#include <tandem/log.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <link.h>
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
bool operator==(const SizeBounds& a, const SizeBounds& b) {
  return a.min == b.min && a.max == b.max && a.zero_unknown == b.zero_unknown;
}
void PrintTo(const SizeBounds& bounds, std::ostream* out) {
  *out << bounds.min << ".." << bounds.max << (bounds.zero_unknown ? " or 0?" : "");
}
}  // namespace tandem

namespace tandem::aoti {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Kind = Complaint::Kind;

/// Lines that the log got since this was made.
class LogLines {
 public:
  LogLines() {
    set_log_sink([this](LogLevel, std::string_view text) {
      const std::scoped_lock lock{mutex_};
      lines_.emplace_back(text);
    });
  }
  ~LogLines() { set_log_sink({}); }
  [[nodiscard]] std::vector<std::string> lines() {
    const std::scoped_lock lock{mutex_};
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class Model final : public DelegateModel {
 public:
  explicit Model(const std::string& library) {
    std::vector<std::byte> bytes = library_bytes(library);
    const std::string key = library_key(bytes);
    blobs_.add(key, std::move(bytes));
    payload_ = key + "\nweights_blob";
  }
  Model& tensor(std::vector<std::int64_t> sizes, bool dynamic, ScalarType dtype = ScalarType::Float) {
    arguments_.emplace_back().make_tensor(dtype, std::move(sizes));
    arguments_.back().dynamic = dynamic;
    return *this;
  }

 private:
  Result<std::unique_ptr<Delegate>> load(std::span<const std::byte> payload, LoadContext& context) override {
    context.backend_id = "AotiHostBackend";
    return make_aoti_host_backend()->prepare(payload, context);
  }
};

Model checked_model(const std::string& library, bool dynamic = true) {
  Model model{library};
  model.tensor({3}, false).tensor({16, 4, 9}, dynamic).tensor({7}, dynamic, ScalarType::Long).tensor({4}, false);
  return model;
}

std::vector<std::vector<SizeBounds>> bounds_of(Model& model) {
  const auto delegate = model.prepare();
  EXPECT_TRUE(delegate.ok()) << delegate.error().to_string();
  return delegate.ok() ? (*delegate)->input_bounds() : std::vector<std::vector<SizeBounds>>{};
}

/// Libraries that the process has opened so far.
unsigned long long opened() {
  unsigned long long adds = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;
      },
      &adds);
  return adds;
}

TEST(InputChecks, ReadsEveryForm) {
  const auto complaint =
      parse_complaint("Error: input_handles[12]: dim value is too large at 1, expected to be <= 360, but got: 361\n");
  ASSERT_TRUE(complaint.has_value());
  EXPECT_EQ(complaint->kind, Kind::TooLarge);
  EXPECT_EQ(complaint->input, 12U);
  EXPECT_EQ(complaint->axis, 1U);
  EXPECT_EQ(complaint->expected, 360);
  EXPECT_EQ(complaint->found, 361);
  EXPECT_EQ(parse_complaint("input_handles[0]: dim value is too small at 0, expected it to be >= 2, but got: -1")->kind,
            Kind::TooSmall);
  EXPECT_EQ(parse_complaint("input_handles[0]: unmatched dim value at 0, expected: 8, but got: 7")->kind,
            Kind::FixedSize);
  EXPECT_EQ(parse_complaint("input_handles[0]: unmatched stride value at 0, expected: 8, but got: 7")->kind,
            Kind::Stride);
  EXPECT_EQ(parse_complaint("input_handles[3]: unmatched dtype, expected: 6(at::kFloat), but got: 0")->kind,
            Kind::Dtype);
  EXPECT_EQ(parse_complaint("input_handles[3]: unmatched device type, expected: 1(cuda), but got: 0")->kind,
            Kind::DeviceType);
}

TEST(InputChecks, OtherTextsAreNoComplaint) {
  for (const char* text :
       {"", "Unknown constant state: 0", "input_handles[", "input_handles[0]: unmatched dim value at ",
        "input_handles[0]: unmatched dim value at 0, expected: s0, but got: 7",
        "input_handles[99999999999999999999]: unmatched dtype", "output_handles[0]: unmatched dtype"}) {
    EXPECT_FALSE(parse_complaint(text).has_value()) << text;
  }
}

class LearnedBounds : public ::testing::TestWithParam<const char*> {};

TEST_P(LearnedBounds, AreThoseOfTheLibrarysOwnChecks) {
  Model model = checked_model(GetParam());
  const auto bounds = bounds_of(model);
  ASSERT_THAT(bounds, SizeIs(3));
  EXPECT_THAT(bounds[0], IsEmpty());  // the program fixes it
  EXPECT_THAT(bounds[1],
              ElementsAre(SizeBounds{1, 16, true}, SizeBounds{4, 4, false}, SizeBounds{0, INT64_MAX, false}));
  EXPECT_THAT(bounds[2], ElementsAre(SizeBounds{5, INT64_MAX, false}));
}

TEST_P(LearnedBounds, AreLearnedWithoutComputingAndWithoutAWordOnStderr) {
  LogLines log;
  Model model = checked_model(GetParam());
  ::testing::internal::CaptureStderr();
  const auto bounds = bounds_of(model);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(bounds, SizeIs(3));
  EXPECT_THAT(log.lines(), Each(Not(HasSubstr("it computes"))));
}

TEST_P(LearnedBounds, LeaveTheLibraryUnchecked) {
  Model model = checked_model(GetParam());
  model.argument(1).resize(std::vector<std::int64_t>{1, 4, 9});  // one row is served
  EXPECT_TRUE(model.runner().run().ok());
}

INSTANTIATE_TEST_SUITE_P(, LearnedBounds, ::testing::Values("checked", "checked_old", "checked_static"));

TEST(InputChecks, CostAFixedProgramNothing) {
  Model fixed = checked_model("checked", /*dynamic=*/false);
  const auto before_fixed = opened();
  EXPECT_THAT(bounds_of(fixed), IsEmpty());
  const auto before_dynamic = opened();
  EXPECT_EQ(before_dynamic - before_fixed, 1U);
  Model dynamic = checked_model("checked");
  EXPECT_THAT(bounds_of(dynamic), SizeIs(3));
  EXPECT_EQ(opened() - before_dynamic, 2U);
  EXPECT_THAT(mappings(kMapped), IsEmpty());
}

TEST(InputChecks, ALibraryWithoutThemTellsNothing) {
  Model model{"filled"};
  model.tensor({4}, true).tensor({4}, false);
  EXPECT_THAT(bounds_of(model), IsEmpty());
}

TEST_P(LearnedBounds, AFailuresTextIsInTheErrorAndNotOnStderr) {
  Model model = checked_model(GetParam());
  model.argument(1).resize(std::vector<std::int64_t>{13, 4, 9});
  ::testing::internal::CaptureStderr();
  const Status ran = model.runner().run();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().native().text, "thirteen rows");
}

}  // namespace
}  // namespace tandem::aoti
