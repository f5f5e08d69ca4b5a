#include "backends/custom/library.h"

#include "base/errno_error.h"
#include "base/guarded.h"
#include "base/loadable_library.h"

#include <dlfcn.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace tandem::custom {
namespace {

constexpr const char* kEntry = "tandem_custom_delegate";

Status check_table(const TandemCustomDelegate* table) {
  if (table == nullptr) {
    return Error{ErrorCode::IncompatibleDelegate, "the library has no delegate for this version of Tandem"}
        .with_field(kEntry)
        .with_expected("a table of version " + std::to_string(TANDEM_CUSTOM_VERSION), "null");
  }
  if (table->version != TANDEM_CUSTOM_VERSION) {
    return Error{ErrorCode::IncompatibleDelegate, "the library was built for another version of tandem/custom.h"}
        .with_field("version")
        .with_expected(std::to_string(TANDEM_CUSTOM_VERSION), std::to_string(table->version));
  }
  if (table->struct_size < sizeof *table) {
    return Error{ErrorCode::IncompatibleDelegate, "the library's table is shorter than its version"}
        .with_field("struct_size")
        .with_expected("at least " + std::to_string(sizeof *table), std::to_string(table->struct_size));
  }
  if (table->enqueue == nullptr) {
    return Error{ErrorCode::IncompatibleDelegate, "the library's table has no enqueue()"}.with_field("enqueue");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Library>> Library::adopt(void* handle) {
  std::shared_ptr<Library> library{new Library{handle}};
  dlerror();
  void* const entry = dlsym(handle, kEntry);
  if (entry == nullptr) {
    const char* text = dlerror();
    return Error{ErrorCode::IncompatibleDelegate, std::string{"the library has no function "} + kEntry}
        .with_field(kEntry)
        .with_native(Origin::DynamicLoader, 0, text != nullptr ? text : "");
  }
  TANDEM_CHECK_OK(base::guarded(ErrorCode::BackendFailed, [&]() -> Status {
    library->table_ = reinterpret_cast<decltype(&tandem_custom_delegate)>(entry)(TANDEM_CUSTOM_VERSION);
    return {};
  }));
  TANDEM_CHECK_OK(check_table(library->table_));
  return library;
}

Result<std::shared_ptr<const Library>> Library::of_bytes(std::span<const std::byte> bytes, std::string_view key) {
  using Place = std::pair<const std::byte*, std::size_t>;
  static auto* libraries =
      new std::map<Place, std::weak_ptr<const Library>>;  // never destroyed: methods may outlive it
  static auto* mutex = new std::mutex;
  const std::scoped_lock lock{*mutex};
  std::erase_if(*libraries, [](const auto& entry) { return entry.second.expired(); });
  const Place place{bytes.data(), bytes.size()};
  if (const auto known = libraries->find(place); known != libraries->end()) {
    if (auto library = known->second.lock(); library != nullptr) return library;
  }
  const auto named = [&key](Error&& error) { return std::move(error).with_key(std::string{key}); };
  auto handle = base::open_library(bytes);
  if (!handle.ok()) return named(std::move(handle).error());
  auto library = adopt(*handle);
  if (!library.ok()) return named(std::move(library).error());
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>((*library)->table_->enqueue), &info) != 0) {
    base::keep_library(bytes, key, reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  }
  (*libraries)[place] = *library;
  return std::shared_ptr<const Library>{*std::move(library)};
}

Result<std::shared_ptr<const Library>> Library::of_file(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) {
    return base::errno_error("the delegate's library cannot be read", errno).with_file(path);
  }
  auto handle = base::open_library(path);
  if (!handle.ok()) return std::move(handle).error().with_file(path);
  auto library = adopt(*handle);
  if (!library.ok()) return std::move(library).error().with_file(path);
  return std::shared_ptr<const Library>{*std::move(library)};
}

Library::~Library() { base::close_library(handle_); }

}  // namespace tandem::custom
