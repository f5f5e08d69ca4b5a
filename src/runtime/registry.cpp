#include <tandem/backend.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace tandem {

std::vector<AccessMode> Delegate::accesses(std::size_t argument_count) const {
  std::vector<AccessMode> modes(argument_count, AccessMode::Read);
  const std::size_t outputs = output_count();
  for (std::size_t i = argument_count - std::min(argument_count, outputs); i < argument_count; ++i) {
    modes[i] = AccessMode::Write;
  }
  return modes;
}

struct BackendRegistry::Impl {
  mutable std::shared_mutex mutex;
  std::map<std::string, std::shared_ptr<Backend>, std::less<>> by_id;
};

BackendRegistry::BackendRegistry() : impl_{std::make_unique<Impl>()} {}
BackendRegistry::~BackendRegistry() = default;

Status BackendRegistry::register_backend(std::string id, std::shared_ptr<Backend> backend) {
  if (backend == nullptr) return Error{ErrorCode::InvalidArgument, "null backend"}.with_backend(std::move(id));
  const std::unique_lock lock{impl_->mutex};
  const auto [at, inserted] = impl_->by_id.try_emplace(std::move(id), std::move(backend));
  if (!inserted) return Error{ErrorCode::InvalidState, "the backend id is taken"}.with_backend(at->first);
  return {};
}

Status BackendRegistry::register_alias(std::string alias, std::string_view id) {
  std::shared_ptr<Backend> backend = find(id);
  if (backend == nullptr) {
    return Error{ErrorCode::NotFound, "an alias of a backend that is not registered"}.with_backend(std::string{id});
  }
  return register_backend(std::move(alias), std::move(backend));
}

std::shared_ptr<Backend> BackendRegistry::find(std::string_view id) const {
  const std::shared_lock lock{impl_->mutex};
  const auto found = impl_->by_id.find(id);
  return found == impl_->by_id.end() ? nullptr : found->second;
}

std::vector<std::string> BackendRegistry::ids() const {
  const std::shared_lock lock{impl_->mutex};
  std::vector<std::string> ids;
  for (const auto& [id, backend] : impl_->by_id) ids.push_back(id);
  return ids;
}

}  // namespace tandem
