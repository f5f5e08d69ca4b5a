#include <tandem/program.h>

#include "base/fork.h"
#include "base/mapped_file.h"
#include "facade/method_meta.h"
#include "format/data_map.h"
#include "format/ptd/ptd.h"
#include "format/pte/pte.h"
#include "runtime/state_store.h"

#include <deque>
#include <system_error>
#include <utility>

namespace tandem {
namespace {

/// Named data as backends see it.
class MappedNamedData final : public NamedData {
 public:
  explicit MappedNamedData(const format::DataMap& map) noexcept : map_{map} {}
  [[nodiscard]] Result<std::span<const std::byte>> find(std::string_view key) const override {
    TANDEM_TRY(const format::DataMap::Item* const item, map_.find(key));
    return item->entry.data;
  }

 private:
  const format::DataMap& map_;
};

}  // namespace

struct Program::Impl {
  std::string name;
  std::string folder;
  std::deque<base::MappedFile> mapped;  // what `file` and `data_files` point into; empty for from_bytes()
  format::Program file;
  std::deque<format::DataFile> data_files;
  format::DataMap data;
  MappedNamedData named_data{data};
  std::shared_ptr<runtime::StateStore> unshared_states = std::make_shared<runtime::StateStore>(/*shares=*/false);

  Status parse(format::Bytes bytes, std::span<const format::Bytes> data_bytes,
               std::span<const std::string> data_names) {
    TANDEM_TRY(file, in_file(format::read_pte(bytes), name));
    std::vector<format::NamedDataFile> named;
    for (std::size_t i = 0; i < data_bytes.size(); ++i) {
      TANDEM_TRY(auto parsed, in_file(format::read_ptd(data_bytes[i]), data_names[i]));
      data_files.push_back(std::move(parsed));
      named.push_back({data_names[i], &data_files.back()});
    }
    TANDEM_TRY(data, format::DataMap::merge(named, &file, name));
    return {};
  }

  template <class T>
  static Result<T> in_file(Result<T> result, const std::string& path) {
    if (result.ok()) return result;
    return std::move(result).error().with_file(path);
  }
};

Program::Program(std::unique_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
Program::~Program() = default;

Result<std::shared_ptr<const Program>> Program::load(const std::filesystem::path& file,
                                                     std::span<const std::filesystem::path> data_files) {
  TANDEM_CHECK_OK(base::refuse_forked_child());
  auto impl = std::make_unique<Impl>();
  impl->name = file.string();
  TANDEM_TRY(auto mapped, base::MappedFile::open(file));
  std::error_code unknown;  // of the working folder; relative paths then lead nowhere
  impl->folder = std::filesystem::absolute(file, unknown).parent_path().string();
  impl->mapped.push_back(std::move(mapped));
  std::vector<format::Bytes> data_bytes;
  std::vector<std::string> data_names;
  for (const std::filesystem::path& path : data_files) {
    TANDEM_TRY(auto data, base::MappedFile::open(path));
    data_bytes.push_back(data.bytes());
    data_names.push_back(path.string());
    impl->mapped.push_back(std::move(data));
  }
  TANDEM_CHECK_OK(impl->parse(impl->mapped.front().bytes(), data_bytes, data_names));
  return std::shared_ptr<const Program>{new Program{std::move(impl)}};
}

Result<std::shared_ptr<const Program>> Program::from_bytes(std::span<const std::byte> bytes,
                                                           std::span<const std::span<const std::byte>> data_files,
                                                           std::string name) {
  TANDEM_CHECK_OK(base::refuse_forked_child());
  auto impl = std::make_unique<Impl>();
  std::vector<std::string> data_names;
  for (std::size_t i = 0; i < data_files.size(); ++i) data_names.push_back(name + " data " + std::to_string(i));
  impl->name = std::move(name);
  TANDEM_CHECK_OK(impl->parse(bytes, data_files, data_names));
  return std::shared_ptr<const Program>{new Program{std::move(impl)}};
}

std::vector<std::string> Program::method_names() const {
  std::vector<std::string> names;
  for (const format::Method& method : impl_->file.methods) names.emplace_back(method.name);
  return names;
}

Result<MethodMeta> Program::method_meta(std::string_view method) const {
  TANDEM_TRY(const format::Method* const found, facade::find_method(*this, method));
  return facade::describe_method(*found);
}

const std::string& Program::name() const noexcept { return impl_->name; }
const std::string& Program::folder() const noexcept { return impl_->folder; }
const NamedData& Program::named_data() const noexcept { return impl_->named_data; }
const format::Program& Program::file() const noexcept { return impl_->file; }
const format::DataMap& Program::data() const noexcept { return impl_->data; }
const std::shared_ptr<runtime::StateStore>& Program::unshared_states() const noexcept { return impl_->unshared_states; }

namespace facade {

Result<const format::Method*> find_method(const Program& program, std::string_view name) {
  std::string known;
  for (const format::Method& method : program.file().methods) {
    if (method.name == name) return &method;
    known += (known.empty() ? "" : ", ") + std::string{method.name};
  }
  return Error{ErrorCode::MethodNotFound, "the program has no such method"}
      .with_expected(known.empty() ? "a method" : "one of " + known, "'" + std::string{name} + "'")
      .with_method(std::string{name})
      .with_file(program.name());
}

}  // namespace facade
}  // namespace tandem
