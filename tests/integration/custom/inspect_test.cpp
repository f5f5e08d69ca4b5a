// What `tandem inspect` says of delegates of CustomBackend.
#include "cli/inspect_files.h"
#include "cli/inspect_report.h"
#include "support/temporary_folder.h"

#include <tandem/custom_payload.h>
#include <tandem/program_builder.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tandem::cli {
namespace {

using ::testing::HasSubstr;

/// A folder with a program in it, and the program's report.
class InspectCustomTest : public ::testing::Test {
 protected:
  Json method_report(const CustomPayload& payload) {
    ProgramBuilder program;
    MethodBuilder& forward = program.method("forward");
    const auto x = forward.tensor({1});
    const auto y = forward.tensor({1});
    const auto bytes = encode_custom_payload(payload);
    EXPECT_TRUE(bytes.ok());
    forward.call(forward.delegate({.id = "CustomBackend", .payload = *bytes}), {x, y}).inputs({x}).outputs({y});
    EXPECT_TRUE(program.save(folder() / "program.pte").ok());
    const auto read = read_program(folder() / "program.pte", {});
    EXPECT_TRUE(read.ok());
    return program_json(*read, BackendRegistry::global())["methods"][0];
  }

  std::filesystem::path folder() const { return temporary_.path(); }

 private:
  testing::TemporaryFolder temporary_;
};

TEST_F(InspectCustomTest, ALibraryThatIsAFileIsLookedForBesideTheProgram) {
  std::ofstream{folder() / "kernel.so"} << "12345";
  const Json report = method_report({.path = "kernel.so"});
  const Json& library = report["delegates"][0]["keys"][0];
  EXPECT_EQ(library["key"], "kernel.so");
  EXPECT_EQ(library["found"], true);
  EXPECT_EQ(library["bytes"], 5);
  EXPECT_EQ(library["file"], (folder() / "kernel.so").string());
  EXPECT_EQ(report["available"], true);
}

TEST_F(InspectCustomTest, AFileThatIsNotThereIsAProblem) {
  const Json report = method_report({.path = "kernel.so"});
  EXPECT_EQ(report["delegates"][0]["keys"][0]["found"], false);
  EXPECT_EQ(report["available"], false);
  EXPECT_THAT(report["problems"][0].get<std::string>(), HasSubstr((folder() / "kernel.so").string()));
}

TEST_F(InspectCustomTest, WhatIsInThePayloadHasItsSizeAndNoKey) {
  const std::string library = "library";
  const std::string blob = "blob";
  const Json report =
      method_report({.library = std::as_bytes(std::span{library}), .blob = std::as_bytes(std::span{blob})});
  const Json& keys = report["delegates"][0]["keys"];
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0]["bytes"], 7);
  EXPECT_EQ(keys[0]["key"], nullptr);
  EXPECT_EQ(keys[1]["purpose"], "blob");
  EXPECT_EQ(keys[1]["bytes"], 4);
}

}  // namespace
}  // namespace tandem::cli
