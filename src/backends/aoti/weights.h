#pragma once

#include "backends/aoti/container.h"
#include "backends/aoti/payload.h"

#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tandem::aoti {

/// Host memory with an owner.
using HostBytes = std::unique_ptr<std::byte, void (*)(void*)>;

/// A container with its constants, ready to run. The container goes first.
struct ReadyContainer {
  std::vector<HostBytes> state{};  ///< Buffers of the model: this container's own, they may change.
  std::unique_ptr<Container> container{};
};

/// The constants of one delegate, on the host, shared by all its containers.
///
/// Parameters and tensor constants exist once per delegate. Buffers are what a model may write to (the library does
/// not tell which ones it does), so every container gets copies with their initial contents. Folded constants are
/// computed per container.
///
/// A blob is copied once: only loading it tells the constants' shapes. Constants that are stored one by one are used
/// where they lie, in the mapped file, if they are 16-byte aligned; it is mapped read-only, so a model that writes to
/// a *parameter* faults.
///
/// Lifetime: `named_data` outlives it.
/// Thread-safety: const members may run concurrently.
class Weights {
 public:
  /// Errors: NotFound, naming the key; InvalidExternalData, a blob or entry of another length than the library wants
  ///   (key, expected, found); InvalidProgram, the payload does not fit the library; IncompatibleDelegate;
  ///   BackendFailed; OutOfMemory.
  [[nodiscard]] static Result<std::unique_ptr<const Weights>> load(std::shared_ptr<const Library> library,
                                                                   const Payload& payload, const NamedData& named_data);

  [[nodiscard]] Result<ReadyContainer> make_container() const;
  /// Whether a container may keep something from one run to the next.
  [[nodiscard]] bool has_state() const noexcept { return has_state_; }

 private:
  /// One constant that is not folded.
  struct Constant {
    ConstantInfo info{};
    AtenTensor prototype{};              ///< dtype and geometry.
    const std::byte* initial = nullptr;  ///< As stored: first byte of its storage.
    std::byte* shared = nullptr;         ///< What containers use; null for buffers.
    std::size_t bytes = 0;               ///< Of the storage.
  };

  explicit Weights(std::shared_ptr<const Library> library) noexcept : library_{std::move(library)} {}
  Status load_blob(std::span<const std::byte> blob, std::span<const ConstantInfo> constants);
  Status load_entries(std::span<const ConstantEntry> entries, std::span<const ConstantInfo> constants,
                      const NamedData& named_data);
  Result<Constant> make_constant(const ConstantInfo& info, const ConstantEntry& entry, const NamedData& named_data);
  Status bind(ReadyContainer& ready) const;

  std::shared_ptr<const Library> library_;
  std::span<const std::byte> blob_{};
  std::unique_ptr<Container> holder_{};  ///< Holds the copy of the blob; never runs.
  std::vector<HostBytes> copies_{};      ///< Of entries that are not aligned.
  std::vector<Constant> constants_{};
  bool has_state_ = false;
  bool has_folded_ = false;
};

}  // namespace tandem::aoti
