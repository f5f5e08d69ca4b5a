#include "backends/aoti/weights.h"

#include "backends/aoti/geometry.h"
#include "base/checked.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace tandem::aoti {
namespace {

/// Where a library has constants on the host, all in its blob are padded to this.
constexpr std::size_t kBlobAlignment = 64;

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }

/// A library that does not tell what its constants are may write to any. One that does calls those unknown which the
/// compiler made of others; nothing writes to them.
bool may_change(const ConstantInfo& info) noexcept { return info.kind == ConstantKind::Buffer || !info.tells_kind; }

}  // namespace

std::vector<std::byte*> addresses_of(std::span<const DeviceBytes> memory) {
  std::vector<std::byte*> addresses;
  for (const DeviceBytes& one : memory) addresses.push_back(one.get());
  return addresses;
}

Result<std::unique_ptr<const Weights>> Weights::load(std::shared_ptr<const Library> library, const Payload& payload,
                                                     const NamedData& named_data, AotiDevice& device) {
  TANDEM_TRY(const auto probe, Container::create(library, device));
  TANDEM_TRY(std::vector<ConstantInfo> constants, probe->constants());
  std::unique_ptr<Weights> weights{new Weights{std::move(library), device}};
  weights->has_folded_ = std::erase_if(constants, [](const ConstantInfo& info) { return info.folded; }) != 0;
  weights->has_state_ = std::ranges::any_of(constants, may_change);
  if (constants.empty()) return weights;
  if (const auto* entries = std::get_if<std::vector<ConstantEntry>>(&payload.weights)) {
    TANDEM_CHECK_OK(weights->load_entries(*entries, constants, named_data));
    return weights;
  }
  TANDEM_TRY(const FoundBytes blob, find_first(named_data, *std::get_if<Keys>(&payload.weights)));
  if (Status loaded = weights->load_blob(blob.bytes, constants); !loaded.ok()) {
    ErrorSite site;
    site.key = blob.key;
    return std::move(loaded).error().with_site(site);
  }
  return weights;
}

Status Weights::load_blob(std::span<const std::byte> blob, std::span<const ConstantInfo> constants) {
  std::size_t expected = 0;
  for (const ConstantInfo& info : constants) {
    if (__builtin_add_overflow(expected, info.bytes, &expected)) {
      return Error{ErrorCode::InvalidProgram, "the constants' sizes overflow"};
    }
  }
  // The library takes a pointer without a length and would read on.
  if (expected != blob.size()) {
    return Error{ErrorCode::InvalidExternalData, "the weights do not have the length that the library wants"}
        .with_expected(bytes_text(expected), bytes_text(blob.size()));
  }
  blob_ = blob;
  TANDEM_TRY(holder_, Container::create(library_, device_));
  if (!holder_->can_bind()) {  // then every container loads the blob itself
    holder_.reset();
    return {};
  }
  TANDEM_TRY(const std::vector<AtenTensor*> handles, holder_->load_blob(blob));
  if (handles.size() != constants.size()) {
    return Error{ErrorCode::IncompatibleDelegate, "the library made another number of constants than it lists"}
        .with_expected(std::to_string(constants.size()), std::to_string(handles.size()));
  }
  std::size_t offset = 0;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    Constant constant{constants[i], *handles[i], handles[i]->base, constants[i].bytes};
    const std::span<const std::byte> initial =
        blob.subspan(std::exchange(offset, offset + constant.bytes), constant.bytes);
    if (handles[i]->storage_bytes > constant.bytes) {
      return Error{ErrorCode::IncompatibleDelegate, "a constant reaches beyond its bytes"}
          .with_key(constant.info.name)
          .with_expected("at most " + bytes_text(constant.bytes), bytes_text(handles[i]->storage_bytes));
    }
    if (may_change(constant.info)) add_to_buffer(constant, constant.info.fqn, std::to_string(i), initial);
    constants_.push_back(std::move(constant));
  }
  return {};
}

void Weights::add_to_buffer(Constant& constant, std::string_view name, std::string storage,
                            std::span<const std::byte> initial) {
  if (constant.bytes == 0) return;
  const auto [found, is_new] = buffer_of_storage_.try_emplace(std::move(storage), buffers_.size());
  if (is_new) buffers_.push_back({.initial = initial, .on_host = constant.prototype.device_type == kAtenCpu});
  constant.buffer = found->second;
  constant.data = nullptr;
  // Names that the compiler makes up begin anew in every library.
  if (name.starts_with("_tensor_constant")) name = {};
  const AtenTensor& as = constant.prototype;
  buffers_[constant.buffer].tensors.push_back({.name = std::string{name},
                                               .dtype = as.dtype,
                                               .sizes = {as.sizes, as.sizes + as.rank},
                                               .strides = {as.strides, as.strides + as.rank},
                                               .offset = as.offset});
}

Status Weights::load_entries(std::span<const ConstantEntry> entries, std::span<const ConstantInfo> constants,
                             const NamedData& named_data) {
  std::map<std::string_view, const ConstantEntry*> by_name;
  for (const ConstantEntry& entry : entries) by_name.emplace(entry.fqn, &entry);
  std::vector<const ConstantEntry*> stored;
  std::set<std::string_view> may_change_key;  // also what else lies in such storage
  for (const ConstantInfo& info : constants) {
    auto found = by_name.find(info.fqn);
    if (found == by_name.end()) found = by_name.find(info.name);
    if (found == by_name.end()) {
      return Error{ErrorCode::InvalidProgram, "the payload has no entry for a constant of the library"}.with_key(
          info.fqn.empty() ? info.name : info.fqn);
    }
    stored.push_back(found->second);
    if (may_change(info)) may_change_key.insert(found->second->storage_key);
  }
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const bool in_buffer = may_change_key.contains(stored[i]->storage_key);
    TANDEM_TRY(Constant constant, make_constant(constants[i], *stored[i], in_buffer, named_data));
    constants_.push_back(std::move(constant));
  }
  return {};
}

Result<Weights::Constant> Weights::make_constant(const ConstantInfo& info, const ConstantEntry& entry, bool in_buffer,
                                                 const NamedData& named_data) {
  const bool on_host = entry.device_type == kAtenCpu;
  if (!on_host && entry.device_type != device_.aten_type()) {
    return Error{ErrorCode::IncompatibleDelegate, "the constant belongs on another device"}
        .with_key(entry.fqn)
        .with_expected(std::to_string(device_.aten_type()), std::to_string(entry.device_type));
  }
  if (info.dtype >= 0 && info.dtype != static_cast<std::int32_t>(entry.dtype)) {
    return Error{ErrorCode::InvalidProgram, "the constant has another dtype than the library wants"}
        .with_key(entry.fqn)
        .with_expected(std::string{name_of(static_cast<ScalarType>(info.dtype))}, std::string{name_of(entry.dtype)});
  }
  TANDEM_TRY(const auto bytes, named_data.find(entry.storage_key));
  if (bytes.size() != entry.storage_bytes) {
    return Error{ErrorCode::InvalidExternalData, "the constant does not have the length that the payload tells"}
        .with_key(entry.storage_key)
        .with_expected(bytes_text(entry.storage_bytes), bytes_text(bytes.size()));
  }
  if (info.bytes != bytes.size() && info.bytes != base::align_up(bytes.size(), kBlobAlignment)) {
    return Error{ErrorCode::InvalidExternalData, "the constant does not have the length that the library wants"}
        .with_key(entry.storage_key)
        .with_expected(bytes_text(info.bytes), bytes_text(bytes.size()));
  }
  Constant constant;
  constant.info = info;
  constant.bytes = bytes.size();
  constant.prototype.dtype = entry.dtype;
  constant.prototype.device_type = entry.device_type;
  constant.prototype.device_index = on_host ? -1 : device_.aten_index();
  constant.prototype.offset = entry.storage_offset;
  const char* why = set_geometry(
      constant.prototype, {static_cast<std::int64_t>(entry.sizes.size()), entry.sizes.data(), entry.strides.data()});
  if (why != nullptr) return Error{ErrorCode::InvalidProgram, why}.with_key(entry.fqn);
  if (in_buffer && constant.bytes != 0) {
    add_to_buffer(constant, entry.fqn, entry.storage_key, bytes);
    return constant;
  }
  TANDEM_TRY(std::shared_ptr<std::byte> placed, (on_host ? *host_device() : device_).place(bytes));
  constant.data = placed.get();
  placed_.push_back(std::move(placed));
  return constant;
}

Result<ReadyContainer> Weights::make_container() const { return make(library_); }

Result<ReadyContainer> Weights::make_checker(std::shared_ptr<const Library> image) const {
  TANDEM_TRY(ReadyContainer ready, make(std::move(image)));
  TANDEM_TRY(ready.buffers, make_buffers(*ready.device));
  if (!ready.buffers.empty()) TANDEM_CHECK_OK(bind(ready, addresses_of(ready.buffers)));
  return ready;
}

Result<std::vector<DeviceBytes>> Weights::make_buffers(AotiDevice& device) const {
  std::vector<DeviceBytes> made;
  for (const MutableBuffer& buffer : buffers_) {
    AotiDevice& where = buffer.on_host ? *host_device() : device;
    TANDEM_TRY(DeviceBytes memory, allocate(where, buffer.initial.size()));
    TANDEM_CHECK_OK(where.upload(memory.get(), buffer.initial));
    made.push_back(std::move(memory));
  }
  return made;
}

Result<ReadyContainer> Weights::make(std::shared_ptr<const Library> image) const {
  ReadyContainer ready;
  TANDEM_TRY(ready.container, Container::create(std::move(image), device_));
  ready.device = ready.container->device();
  if (constants_.empty() && !blob_.empty()) {
    const auto loaded = ready.container->load_blob(blob_);
    if (!loaded.ok()) return loaded.error();
  }
  if (buffers_.empty()) TANDEM_CHECK_OK(bind(ready, {}));
  return ready;
}

Status Weights::bind(ReadyContainer& ready, std::span<std::byte* const> memory) const {
  if (!constants_.empty() && !ready.container->can_bind()) {
    return Error{ErrorCode::IncompatibleDelegate, "the library can't be given its constants one by one"};
  }
  std::vector<ConstantPair> pairs;
  for (const Constant& constant : constants_) {
    AtenTensor& handle = ready.container->state().handles.take();  // swept with the container, which refers to it
    handle.dtype = constant.prototype.dtype;
    handle.device_type = constant.prototype.device_type;
    handle.device_index = constant.prototype.device_index;
    handle.offset = constant.prototype.offset;
    handle.rank = constant.prototype.rank;
    std::ranges::copy(constant.prototype.sizes, handle.sizes);
    std::ranges::copy(constant.prototype.strides, handle.strides);
    handle.defined = true;
    handle.base = constant.buffer == kNoBuffer ? constant.data : memory[constant.buffer];
    handle.storage_bytes = constant.bytes;
    pairs.push_back({constant.info.name.c_str(), &handle});
  }
  if (!pairs.empty()) TANDEM_CHECK_OK(ready.container->bind(pairs));
  // Left to the first run, folding would mix its allocations into that run's record. Without anything to fold, the
  // library only complains.
  return has_folded_ ? ready.container->fold() : Status{};
}

}  // namespace tandem::aoti
