#include "base/errno_error.h"

#include <tandem/error.h>

#include <gtest/gtest.h>

#include <cerrno>

namespace tandem {
namespace {

TEST(ErrorTest, SaysEverythingItKnowsInOneLine) {
  const Error error = Error{ErrorCode::InvalidProgram, "segment is past the end"}
                          .with_expected("at most 10", "12")
                          .with_file("a.pte")
                          .with_method("forward")
                          .with_instruction(0, 3)
                          .with_backend("CudaBackend", 1)
                          .with_op("aten::add.out")
                          .with_argument(2)
                          .with_value(7)
                          .with_key("k")
                          .with_field("segments[0]")
                          .with_offset(48)
                          .with_device("host")
                          .with_native(Origin::Errno, 5, "I/O error");
  EXPECT_EQ(error.to_string(),
            "InvalidProgram: segment is past the end; expected at most 10; found 12; errno 5 (I/O error) "
            "[file a.pte, method forward, chain 0, instruction 3, delegate 1, backend CudaBackend, "
            "operator aten::add.out, argument 2, value 7, key k, field segments[0], offset 48, device host]");
  EXPECT_EQ(error.raised_at().substr(0, 15), "error_test.cpp:");
}

TEST(ErrorTest, OuterSiteFillsOnlyWhatIsMissing) {
  const Error error = Error{ErrorCode::NotFound, "m"}.with_method("inner").with_site(
      {.file = "f", .method = "outer", .delegate = 4, .offset = 9});
  EXPECT_EQ(error.site().method, "inner");
  EXPECT_EQ(error.site().file, "f");
  EXPECT_EQ(error.site().delegate, 4);
  EXPECT_EQ(error.site().offset, 9U);
}

TEST(ErrorTest, CopiesAreIndependent) {
  const Error first{ErrorCode::NotFound, "m"};
  Error second = first;
  second = std::move(second).with_key("k");
  EXPECT_TRUE(first.site().key.empty());
  EXPECT_EQ(second.site().key, "k");
}

TEST(ErrorTest, CodesKeepTheirNumbers) {  // they are public and equal ExecuTorch's where the meaning is
  EXPECT_EQ(static_cast<unsigned>(ErrorCode::Internal), 0x01U);
  EXPECT_EQ(static_cast<unsigned>(ErrorCode::InvalidArgument), 0x12U);
  EXPECT_EQ(static_cast<unsigned>(ErrorCode::InvalidProgram), 0x23U);
  EXPECT_EQ(name_of(ErrorCode::OrderViolation), "OrderViolation");
}

TEST(ErrnoErrorTest, MapsTheCommonNumbers) {
  EXPECT_EQ(base::errno_error("x", ENOENT).code(), ErrorCode::NotFound);
  EXPECT_EQ(base::errno_error("x", ENOMEM).code(), ErrorCode::OutOfMemory);
  const Error other = base::errno_error("x", EACCES);
  EXPECT_EQ(other.code(), ErrorCode::AccessFailed);
  EXPECT_EQ(other.native().code, EACCES);
  EXPECT_FALSE(other.native().text.empty());
}

}  // namespace
}  // namespace tandem
