#include "backends/aoti/weights.h"

#include "backends/aoti/geometry.h"
#include "base/checked.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace tandem::aoti {
namespace {

/// Where a library has constants on the host, all in its blob are padded to this.
constexpr std::size_t kBlobAlignment = 64;

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

Status ReadyContainer::reset() const {
  for (const StateBytes& buffer : state) {
    TANDEM_CHECK_OK(buffer.device->duplicate(buffer.data.get(), buffer.initial, buffer.bytes));
  }
  return {};
}

Result<std::unique_ptr<const Weights>> Weights::load(std::shared_ptr<const Library> library, const Payload& payload,
                                                     const NamedData& named_data, AotiDevice& device) {
  TANDEM_TRY(const auto probe, Container::create(library, device));
  TANDEM_TRY(std::vector<ConstantInfo> constants, probe->constants());
  std::unique_ptr<Weights> weights{new Weights{std::move(library), device}};
  weights->has_folded_ = std::erase_if(constants, [](const ConstantInfo& info) { return info.folded; }) != 0;
  weights->has_state_ =
      std::ranges::any_of(constants, [](const ConstantInfo& info) { return info.kind == ConstantKind::Buffer; });
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
  for (std::size_t i = 0; i < constants.size(); ++i) {
    Constant constant{constants[i], *handles[i], handles[i]->base, constants[i].bytes};
    if (handles[i]->storage_bytes > constant.bytes) {
      return Error{ErrorCode::IncompatibleDelegate, "a constant reaches beyond its bytes"}
          .with_key(constant.info.name)
          .with_expected("at most " + bytes_text(constant.bytes), bytes_text(handles[i]->storage_bytes));
    }
    constants_.push_back(std::move(constant));
  }
  return {};
}

Status Weights::load_entries(std::span<const ConstantEntry> entries, std::span<const ConstantInfo> constants,
                             const NamedData& named_data) {
  std::map<std::string_view, const ConstantEntry*> by_name;
  for (const ConstantEntry& entry : entries) by_name.emplace(entry.fqn, &entry);
  for (const ConstantInfo& info : constants) {
    auto found = by_name.find(info.fqn);
    if (found == by_name.end()) found = by_name.find(info.name);
    if (found == by_name.end()) {
      return Error{ErrorCode::InvalidProgram, "the payload has no entry for a constant of the library"}.with_key(
          info.fqn.empty() ? info.name : info.fqn);
    }
    TANDEM_TRY(Constant constant, make_constant(info, *found->second, named_data));
    constants_.push_back(std::move(constant));
  }
  return {};
}

Result<Weights::Constant> Weights::make_constant(const ConstantInfo& info, const ConstantEntry& entry,
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
  TANDEM_TRY(std::shared_ptr<std::byte> placed, (on_host ? *host_device() : device_).place(bytes));
  constant.initial = placed.get();
  placed_.push_back(std::move(placed));
  return constant;
}

Result<ReadyContainer> Weights::make_container() const { return make(library_, /*copies_buffers=*/true); }

Result<ReadyContainer> Weights::make_checker(std::shared_ptr<const Library> image) const {
  return make(std::move(image), /*copies_buffers=*/false);
}

Result<ReadyContainer> Weights::make(std::shared_ptr<const Library> image, bool copies_buffers) const {
  ReadyContainer ready;
  TANDEM_TRY(ready.container, Container::create(std::move(image), device_));
  ready.device = ready.container->device();
  if (!constants_.empty()) {
    TANDEM_CHECK_OK(bind(ready, copies_buffers));
  } else if (!blob_.empty()) {
    const auto loaded = ready.container->load_blob(blob_);
    if (!loaded.ok()) return loaded.error();
  }
  // Left to the first run, folding would mix its allocations into that run's record. Without anything to fold, the
  // library only complains.
  if (has_folded_) TANDEM_CHECK_OK(ready.container->fold());
  return ready;
}

Status Weights::bind(ReadyContainer& ready, bool copies_buffers) const {
  if (!ready.container->can_bind()) {
    return Error{ErrorCode::IncompatibleDelegate, "the library can't be given its constants one by one"};
  }
  std::map<const std::byte*, std::byte*> state;  // constants of one storage share the copy
  AotiDevice& device = *ready.device;
  std::vector<ConstantPair> pairs;
  for (const Constant& constant : constants_) {
    std::byte* data = constant.initial;
    if (copies_buffers && constant.info.kind == ConstantKind::Buffer && constant.bytes != 0) {
      std::byte*& copy = state[constant.initial];
      if (copy == nullptr) {
        AotiDevice& where = constant.prototype.device_type == kAtenCpu ? *host_device() : device;
        TANDEM_TRY(DeviceBytes memory, allocate(where, constant.bytes));
        copy = memory.get();
        ready.state.push_back({std::move(memory), &where, constant.initial, constant.bytes});
      }
      data = copy;
    }
    AtenTensor& handle = ready.container->state().handles.take();  // swept with the container, which refers to it
    handle.dtype = constant.prototype.dtype;
    handle.device_type = constant.prototype.device_type;
    handle.device_index = constant.prototype.device_index;
    handle.offset = constant.prototype.offset;
    handle.rank = constant.prototype.rank;
    std::ranges::copy(constant.prototype.sizes, handle.sizes);
    std::ranges::copy(constant.prototype.strides, handle.strides);
    handle.defined = true;
    handle.base = data;
    handle.storage_bytes = constant.bytes;
    pairs.push_back({constant.info.name.c_str(), &handle});
  }
  TANDEM_CHECK_OK(ready.reset());
  return ready.container->bind(pairs);
}

}  // namespace tandem::aoti
