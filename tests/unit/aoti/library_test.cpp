#include "backends/aoti/library.h"

#include "backends/aoti/container.h"
#include "library_files.h"
#include "support/fixture_folder.h"
#include "support/temporary_folder.h"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <latch>
#include <thread>

namespace tandem::aoti {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Result<std::unique_ptr<Library>> open_built(const std::string& name, LoadVia via = LoadVia::Automatic) {
  return Library::open(library_bytes(name), name, shim_table_host(), via);
}

std::vector<std::byte> fixture_library(const char* folder) {
  const testing::FixtureFolder fixture{folder};
  const auto bytes = fixture.library(fixture.payloads("forward").front());
  return {bytes.begin(), bytes.end()};
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) ++count;
  return count;
}

/// An environment variable for the length of a test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_{name} { setenv(name, value.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

std::vector<std::filesystem::path> files_in(const testing::TemporaryFolder& folder) {
  std::vector<std::filesystem::path> list;
  for (const auto& entry : std::filesystem::directory_iterator{folder.path()}) list.push_back(entry.path().filename());
  return list;
}

class UnloadTest : public ::testing::TestWithParam<const char*> {};

/// "stock": a library with STB_GNU_UNIQUE symbols, which glibc would keep for ever.
TEST_P(UnloadTest, ClosingUnmapsThoughAThreadThatCalledItLives) {
  const std::string name = GetParam();
  const auto bytes = name == "stock" ? fixture_library("mlp_stock") : library_bytes(name);
  std::shared_ptr<const Library> library;
  {
    auto opened = Library::open(bytes, name, shim_table_host());
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    library = std::move(*opened);
  }
  ASSERT_THAT(mappings(kMapped), Not(IsEmpty()));
  std::latch called{1};
  std::latch checked{1};
  std::thread thread{[&] {
    {
      const auto container = Container::create(std::exchange(library, nullptr), *host_device());
      EXPECT_TRUE(container.ok());
    }
    called.count_down();
    checked.wait();
  }};
  called.wait();
  EXPECT_THAT(mappings(kMapped), IsEmpty());
  checked.count_down();
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Library, UnloadTest, ::testing::Values("stock", "scaled", "nodelete", "initialiser"),
                         [](const auto& name) { return std::string{name.param}; });

TEST(Library, ClosingDestroysItsStaticAndThreadLocalObjects) {
  const std::size_t before = HandlePool::shared().live();
  {
    const auto library = open_built("initialiser");
    ASSERT_TRUE(library.ok());
    EXPECT_EQ(HandlePool::shared().live(), before + 2);
  }
  EXPECT_EQ(HandlePool::shared().live(), before);
}

TEST(Library, ReusedDescriptorNumberOpensTheNewBytes) {
  const auto first = open_built("scaled");  // its descriptor is free again, the next one gets the number
  auto second = open_built("results");
  ASSERT_TRUE(first.ok() && second.ok());
  const auto container = Container::create(std::shared_ptr<const Library>{std::move(*second)}, *host_device());
  ASSERT_TRUE(container.ok());
  EXPECT_EQ((*container)->output_count(), 6U);
}

TEST(Library, PrivateFileIsGoneOnceItIsOpen) {
  const testing::TemporaryFolder folder;
  const Environment environment{"TMPDIR", folder.path()};
  const auto library = open_built("scaled", LoadVia::PrivateFile);
  ASSERT_TRUE(library.ok()) << library.error().to_string();
  EXPECT_THAT(files_in(folder), IsEmpty());
  EXPECT_THAT(mappings(folder.path().string()), Not(IsEmpty()));
}

TEST(Library, NoPlaceForAFileIsAnErrorThatNamesIt) {
  const Environment environment{"TMPDIR", "/nowhere"};
  const auto library = open_built("scaled", LoadVia::PrivateFile);
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().native().origin, Origin::Errno);
  EXPECT_THAT(library.error().site().file, HasSubstr("/nowhere/tandem-"));
  EXPECT_EQ(library.error().site().key, "scaled");
}

TEST(Library, KeepsACopyForDebuggersUnderItsKey) {
  const testing::TemporaryFolder folder;
  const Environment environment{"TANDEM_KEEP_LIBS", folder.path()};
  const auto library = Library::open(library_bytes("scaled"), "../some/key", shim_table_host());
  ASSERT_TRUE(library.ok());
  ASSERT_THAT(files_in(folder), ::testing::ElementsAre(".._some_key.so"));
  EXPECT_EQ(std::filesystem::file_size(folder.path() / ".._some_key.so"), library_bytes("scaled").size());
}

TEST(Library, ShimsThatNobodySuppliesAreListedTogether) {
  const auto library = open_built("missing");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code(), ErrorCode::IncompatibleDelegate);
  EXPECT_THAT(library.error().message(), HasSubstr("aoti_torch_cpu_no_such_operator"));
  EXPECT_THAT(library.error().message(), HasSubstr("aoti_torch_nor_this_one"));
  EXPECT_THAT(library.error().message(), HasSubstr("Sleef_nosuchfunctiond4_u10"));
  EXPECT_THAT(library.error().message(), HasSubstr("libsleef3"));
  EXPECT_EQ(library.error().site().key, "missing");
}

TEST(Library, OtherMissingImportsAreListedWithTheLoadersText) {
  const auto library = open_built("nowhere");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(library.error().native().origin, Origin::DynamicLoader);
  EXPECT_THAT(library.error().native().text, HasSubstr("undefined symbol: tandem_test_is_nowhere"));
  EXPECT_THAT(library.error().message(), HasSubstr("not found: "));
  EXPECT_THAT(library.error().message(), HasSubstr("tandem_test_is_nowhere_either"));
  EXPECT_THAT(library.error().message(), Not(HasSubstr("malloc")));
}

TEST(Library, VectorMathematicsComesFromTheInstalledSleef) {
  const auto library = open_built("sleef");
  void* sleef = dlopen("libsleef.so.3", RTLD_LAZY | RTLD_LOCAL);
  EXPECT_EQ(library.ok(), sleef != nullptr);
  if (!library.ok()) {
    EXPECT_THAT(library.error().message(), HasSubstr("libsleef3"));
  }
  if (sleef != nullptr) dlclose(sleef);
}

TEST(Library, ALibraryForAnotherProcessorIsNamedWithItsKey) {
  auto bytes = library_bytes("scaled");
  const std::uint16_t machine = EM_AARCH64;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof machine);
  const auto library = Library::open(bytes, "some_key", shim_table_host());
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(library.error().found(), "aarch64");
  EXPECT_EQ(library.error().site().key, "some_key");
}

TEST(Library, WithoutEntryPointsIsRefusedByName) {
  const auto library = open_built("no_entry_points");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code(), ErrorCode::IncompatibleDelegate);
  EXPECT_THAT(library.error().message(), HasSubstr("AOTInductorModelContainerCreateWithDevice"));
  EXPECT_THAT(library.error().message(), HasSubstr("AOTInductorModelContainerRun"));
  EXPECT_THAT(mappings(kMapped), IsEmpty());
}

TEST(Library, LoadingLeavesTheStackNotExecutable) {
  const auto library = Library::open(fixture_library("add"), "add", shim_table_host());  // it asks for one that is
  ASSERT_TRUE(library.ok());
  const auto stack = mappings("[stack]");
  ASSERT_THAT(stack, SizeIs(1));
  EXPECT_THAT(stack[0], Not(HasSubstr("x")));
}

/// See decoys.cpp: they abort when called.
TEST(Library, ShimsOfOthersInTheProcessPlayNoPart) {
  ASSERT_NE(dlsym(RTLD_DEFAULT, "aoti_torch_empty_strided"), nullptr);
  EXPECT_NE(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "aoti_torch_empty_strided")),
            shim_table_host().find("aoti_torch_empty_strided"));
  auto opened = open_built("initialiser");  // calls shims while it is loaded
  ASSERT_TRUE(opened.ok());
  const auto container = Container::create(std::shared_ptr<const Library>{std::move(*opened)}, *host_device());
  ASSERT_TRUE(container.ok());
  const CallScope scope{(*container)->state()};
  AtenTensor* out = nullptr;
  ASSERT_TRUE((*container)->run({}, {&out, 1}, nullptr).ok());
  EXPECT_EQ(*reinterpret_cast<float*>(out->data()), 42.0F);
  delete_handle(*out);
}

TEST(Library, ManyCyclesLeaveDescriptorsAndMappingsAsTheyWere) {
  const auto bytes = fixture_library("mlp_stock");
  std::size_t descriptors = 0;
  std::size_t maps = 0;
  for (int i = 0; i < 100; ++i) {
    {
      auto opened = Library::open(bytes, "mlp_stock", shim_table_host());
      ASSERT_TRUE(opened.ok());
      EXPECT_TRUE(Container::create(std::shared_ptr<const Library>{std::move(*opened)}, *host_device()).ok());
    }
    EXPECT_THAT(mappings(kMapped), IsEmpty());
    if (i == 9) {
      descriptors = open_descriptors();
      maps = mappings("").size();
    }
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  // The heap may have grown by a mapping; a library would leave five each time.
  EXPECT_LE(mappings("").size(), maps + 4);
}

TEST(SharedLibrary, EqualBytesAreOpenedOnce) {
  const auto bytes = library_bytes("scaled");
  const auto first = open_shared(bytes, library_key(bytes), shim_table_host());
  const auto second = open_shared(bytes, "forward_so_blob", shim_table_host());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  const auto other_bytes = library_bytes("results");
  const auto other = open_shared(other_bytes, library_key(other_bytes), shim_table_host());
  ASSERT_TRUE(other.ok());
  EXPECT_NE(*first, *other);
}

TEST(SharedLibrary, IsClosedWithItsLastUser) {
  const auto bytes = library_bytes("scaled");
  { ASSERT_TRUE(open_shared(bytes, "key", shim_table_host()).ok()); }
  EXPECT_THAT(mappings(kMapped), IsEmpty());
}

TEST(SharedLibrary, DigestOfTheKeyIsVerified) {
  auto bytes = library_bytes("scaled");
  const std::string key = library_key(bytes);
  bytes.back() ^= std::byte{1};
  const auto library = open_shared(bytes, key, shim_table_host());
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(library.error().site().key, key);
  EXPECT_EQ(library.error().expected() + "_so_blob", key);
  EXPECT_EQ(library.error().found() + "_so_blob", library_key(bytes));
}

TEST(SharedLibrary, MayBeOpenedFromManyThreads) {
  const auto bytes = library_bytes("scaled");
  std::vector<std::shared_ptr<const Library>> opened(4);
  std::vector<std::thread> threads;
  for (auto& library : opened) {
    threads.emplace_back([&] {
      auto result = open_shared(bytes, "key", shim_table_host());
      ASSERT_TRUE(result.ok());
      library = *result;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& library : opened) EXPECT_EQ(library, opened.front());
}

}  // namespace
}  // namespace tandem::aoti
