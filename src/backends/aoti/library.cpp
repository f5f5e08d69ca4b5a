#include "backends/aoti/library.h"

#include "backends/aoti/elf_image.h"
#include "backends/aoti/thread_exit.h"
#include "base/sha256.h"

#include <dlfcn.h>
#include <link.h>
#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tandem::aoti {
namespace {

constexpr std::size_t kDigestDigits = 64;

/// glibc opens and closes one library at a time anyway. Holding the same order here keeps a closed library's
/// addresses from being reused before its pending destructors are dropped.
std::mutex& loader_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

/// A vector-math function of libsleef, which exports with vector code import without naming the library. 0 if it is
/// not installed. It stays open: functions of it are in use by then.
std::uintptr_t sleef_function(std::string_view name) {
  static void* library = dlopen("libsleef.so.3", RTLD_LAZY | RTLD_LOCAL);
  return library == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(dlsym(library, std::string{name}.c_str()));
}

/// What compilers make of strtol since glibc 2.38; the difference (binary numbers) plays no part in a library that was
/// compiled against the older names just as well. 0 where glibc has them itself.
std::uintptr_t newer_glibc_function(std::string_view name) {
  if (!name.starts_with("__isoc23_strto") || dlsym(RTLD_DEFAULT, std::string{name}.c_str()) != nullptr) return 0;
  constexpr std::string_view kPrefix = "__isoc23_";
  return reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, std::string{name.substr(kPrefix.size())}.c_str()));
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

/// Of the CUDA runtime ("cudaMalloc"), its driver ("cuLaunchKernel"), or a library of CUDA ("cublasCreate_v2").
bool is_cuda_function(std::string_view name) {
  constexpr std::string_view kLibraries[] = {"cuda", "cublas", "cudnn", "curand", "cufft", "cusparse", "cusolver"};
  if (std::ranges::any_of(kLibraries, [&](std::string_view prefix) { return name.starts_with(prefix); })) return true;
  return name.size() > 2 && name.starts_with("cu") && std::isupper(static_cast<unsigned char>(name[2])) != 0;
}

/// Only the runtime that runs the shims can supply these, so there is no need to ask the loader. CUDA is not looked
/// for elsewhere: a function that Tandem does not know might use the legacy stream or wait for the device.
Status check_imports(const ElfImage& image) {
  std::vector<std::string_view> missing = image.missing_imports();
  std::erase_if(missing, [](std::string_view name) {
    return !name.starts_with("aoti_") && !name.starts_with("Sleef_") && !is_cuda_function(name);
  });
  if (missing.empty()) return {};
  const bool sleef = std::ranges::any_of(missing, [](std::string_view name) { return name.starts_with("Sleef_"); });
  return Error{ErrorCode::IncompatibleDelegate,
               "the library imports functions that nobody supplies: " + joined(missing) +
                   (sleef ? " (the Sleef_ ones are in the system package libsleef3)" : "")};
}

/// What of the library's other imports is nowhere to be found; the loader's own message stops at the first.
std::vector<std::string_view> unresolved_imports(const ElfImage& image) {
  std::vector<void*> libraries;
  for (const std::string_view name : image.needed()) {
    // Tandem needs these itself, so RTLD_DEFAULT sees them.
    constexpr std::string_view kOwn[] = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
                                         "ld-linux-x86-64.so.2"};
    if (std::ranges::find(kOwn, name) != std::end(kOwn)) continue;
    if (void* library = dlopen(std::string{name}.c_str(), RTLD_LAZY | RTLD_LOCAL); library != nullptr) {
      libraries.push_back(library);
    }
  }
  std::vector<std::string_view> names = image.missing_imports();
  std::erase_if(names, [&](std::string_view name) {
    const std::string text{name};
    return dlsym(RTLD_DEFAULT, text.c_str()) != nullptr ||
           std::ranges::any_of(libraries, [&](void* library) { return dlsym(library, text.c_str()) != nullptr; });
  });
  for (void* library : libraries) dlclose(library);
  return names;
}

/// An OpenMP runtime's threads outlive the calls, so its code must outlive the library that brought it in.
/// Precondition: loader_mutex() is held.
void pin_openmp(const ElfImage& image) {
  static auto* pinned = new std::set<void*>;
  for (const std::string_view name : image.needed()) {
    if (!name.starts_with("libgomp.") && !name.starts_with("libomp.") && !name.starts_with("libiomp5.")) continue;
    void* runtime = dlopen(std::string{name}.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (runtime != nullptr && !pinned->insert(runtime).second) dlclose(runtime);
  }
}

/// Precondition: loader_mutex() is held.
Result<void*> load(const ElfImage& image, LoadVia via) {
  auto opened = base::open_library(image.loaded_bytes(), via);
  if (opened.ok() || opened.error().code() != ErrorCode::IncompatibleDelegate) return opened;
  const auto names = unresolved_imports(image);
  if (names.empty()) return opened;
  return Error{ErrorCode::IncompatibleDelegate, opened.error().message() + "; not found: " + joined(names)}.with_native(
      Origin::DynamicLoader, 0, opened.error().native().text);
}

bool has_avx512() noexcept { return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0; }

}  // namespace

Status check_processor(const ElfImage& image, bool has_avx512) {
  if (has_avx512 || !image.uses_avx512()) return {};
  return Error{ErrorCode::IncompatibleDelegate,
               "the delegate was compiled for a processor with AVX-512, which this one lacks; export it for this "
               "processor"};
}

Result<std::unique_ptr<Library>> Library::open(std::span<const std::byte> bytes, std::string_view key,
                                               const ShimTable& table, LoadVia via, std::span<const Shim> overrides) {
  const auto site = [&] {
    ErrorSite where;
    where.key = key;
    return where;
  };
  auto image = ElfImage::parse(bytes);
  if (!image.ok()) return std::move(image).error().with_site(site());
  image->supply([&](std::string_view name) {
    if (const auto own = std::ranges::find(overrides, name, &Shim::name); own != overrides.end()) return own->address;
    const std::uintptr_t address = table.find(name);
    if (address != 0) return address;
    return name.starts_with("Sleef_") ? sleef_function(name) : newer_glibc_function(name);
  });
  image->isolate();
  image->weaken_versions();
  if (Status imports = check_imports(*image); !imports.ok()) return std::move(imports).error().with_site(site());
  // Every function of it is supplied by now, so a machine without a driver can load the library, if not run it.
  image->drop_needed("libcuda.so.1");
  if (Status fits = check_processor(*image, has_avx512()); !fits.ok()) return std::move(fits).error().with_site(site());

  std::unique_ptr<Library> library;
  {
    const std::scoped_lock lock{loader_mutex()};
    auto handle = load(*image, via);
    if (!handle.ok()) return std::move(handle).error().with_site(site());
    const link_map* map = nullptr;
    if (dlinfo(*handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) {
      dlclose(*handle);
      return Error{ErrorCode::Internal, "the loaded library has no link map"}.with_site(site());
    }
    library.reset(new Library{*handle, map->l_addr + image->first_address(), map->l_addr + image->end_address()});
    pin_openmp(*image);
  }
  auto symbols = find_symbols(library->handle_);
  if (!symbols.ok()) return std::move(symbols).error().with_site(site());
  library->symbols_ = *symbols;
  if (overrides.empty()) base::keep_library(image->bytes(), key, library->first_);
  return library;
}

Library::~Library() {
  const std::scoped_lock lock{loader_mutex()};
  run_thread_exits(first_, end_);
  // Libraries with a libstdc++ of their own: its emergency pool is freed by nobody else.
  if (void* freeres = dlsym(handle_, "_ZN9__gnu_cxx9__freeresEv"); freeres != nullptr) {
    // The name may be found in the host's libstdc++, whose pool is not ours to free.
    if (const auto at = reinterpret_cast<std::uintptr_t>(freeres); at >= first_ && at < end_) {
      reinterpret_cast<void (*)()>(freeres)();
    }
  }
  base::close_library(handle_);
  drop_thread_exits(first_, end_);  // static destructors may have touched thread-local objects again
}

namespace {

struct CacheKey {
  std::string digest;
  const ShimTable* table;
  auto operator<=>(const CacheKey&) const = default;
};

/// One library of the cache; its mutex makes the second asker wait for the first one's load.
struct CacheEntry {
  std::mutex mutex{};
  std::weak_ptr<const Library> library{};
};

struct Cache {
  std::mutex mutex{};
  std::map<CacheKey, std::shared_ptr<CacheEntry>> entries{};
};

std::shared_ptr<CacheEntry> cache_entry(CacheKey key) {
  static auto* cache = new Cache;  // never destroyed: programs may be closed while the process ends
  const std::scoped_lock lock{cache->mutex};
  std::erase_if(cache->entries, [](const auto& item) {
    if (item.second.use_count() != 1) return false;
    const std::scoped_lock last_user{item.second->mutex};  // free by now; orders what its last user wrote before us
    return item.second->library.expired();
  });
  auto& entry = cache->entries[std::move(key)];
  if (entry == nullptr) entry = std::make_shared<CacheEntry>();
  return entry;
}

/// The digest that a key announces; empty if it announces none.
std::string_view announced_digest(std::string_view key) {
  if (key.size() <= kDigestDigits || key[kDigestDigits] != '_') return {};
  const std::string_view digits = key.substr(0, kDigestDigits);
  const bool hexadecimal = digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  return hexadecimal ? digits : std::string_view{};
}

bool equal_digits(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

Result<std::shared_ptr<const Library>> open_shared(std::span<const std::byte> bytes, std::string_view key,
                                                   const ShimTable& table) {
  TANDEM_TRY(std::string digest, base::sha256_hex(bytes));
  if (const std::string_view announced = announced_digest(key); !announced.empty()) {
    if (!equal_digits(announced, digest)) {
      return Error{ErrorCode::InvalidProgram, "the library's bytes do not have the SHA-256 that its key announces"}
          .with_key(std::string{key})
          .with_expected(std::string{announced}, digest);
    }
  }
  const std::shared_ptr<CacheEntry> entry = cache_entry({std::move(digest), &table});
  const std::scoped_lock lock{entry->mutex};
  if (auto library = entry->library.lock(); library != nullptr) return library;
  TANDEM_TRY(std::shared_ptr<const Library> library, Library::open(bytes, key, table));
  entry->library = library;
  return library;
}

}  // namespace tandem::aoti
