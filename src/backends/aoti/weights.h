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

/// A buffer of the model as one container has it; it may change.
struct StateBytes {
  DeviceBytes data{};
  AotiDevice* device = nullptr;
  const std::byte* initial = nullptr;  ///< On the same device.
  std::size_t bytes = 0;
};

/// A container with its constants, ready to run. The container goes first, what it runs on last.
struct ReadyContainer {
  std::shared_ptr<AotiDevice> device{};
  std::vector<StateBytes> state{};
  std::unique_ptr<Container> container{};

  /// Gives the buffers their initial contents. Blocks. Precondition: nothing that uses them is still running.
  [[nodiscard]] Status reset() const;
};

/// The constants of one delegate, where its device reads them, shared by all its containers.
///
/// Parameters and tensor constants exist once per delegate. Buffers are what a model may write to (the library does
/// not tell which ones it does), so every container gets copies with their initial contents. Folded constants are
/// computed per container.
///
/// A blob is copied once: only loading it tells the constants' shapes. Constants that are stored one by one are used
/// where they lie, in the mapped file, if they are 16-byte aligned; it is mapped read-only, so a model that writes to
/// a *parameter* faults. Other devices than the host get one copy of each stored constant, whoever asks for it, be it
/// another delegate or method of the program.
///
/// Lifetime: `named_data` outlives it.
/// Thread-safety: const members may run concurrently.
class Weights {
 public:
  /// Errors: NotFound, naming the key; InvalidExternalData, a blob or entry of another length than the library wants
  ///   (key, expected, found); InvalidProgram, the payload does not fit the library; IncompatibleDelegate;
  ///   BackendFailed; OutOfMemory.
  [[nodiscard]] static Result<std::unique_ptr<const Weights>> load(std::shared_ptr<const Library> library,
                                                                   const Payload& payload, const NamedData& named_data,
                                                                   AotiDevice& device = *host_device());

  [[nodiscard]] Result<ReadyContainer> make_container() const;
  /// A container of another image of the same library that never runs the model: it shares the buffers' initial bytes.
  [[nodiscard]] Result<ReadyContainer> make_checker(std::shared_ptr<const Library> image) const;
  /// Whether a container may keep something from one run to the next.
  [[nodiscard]] bool has_state() const noexcept { return has_state_; }
  /// Whether ReadyContainer::reset() brings back everything that a run may have changed.
  [[nodiscard]] bool can_reset() const noexcept { return !has_state_ || !constants_.empty(); }

 private:
  /// One constant that is not folded.
  struct Constant {
    ConstantInfo info{};
    AtenTensor prototype{};        ///< dtype, device and geometry.
    std::byte* initial = nullptr;  ///< First byte of its storage; what containers use, but for buffers.
    std::size_t bytes = 0;         ///< Of the storage.
  };

  Weights(std::shared_ptr<const Library> library, AotiDevice& device) noexcept
      : library_{std::move(library)}, device_{device} {}
  Status load_blob(std::span<const std::byte> blob, std::span<const ConstantInfo> constants);
  Status load_entries(std::span<const ConstantEntry> entries, std::span<const ConstantInfo> constants,
                      const NamedData& named_data);
  Result<Constant> make_constant(const ConstantInfo& info, const ConstantEntry& entry, const NamedData& named_data);
  Result<ReadyContainer> make(std::shared_ptr<const Library> image, bool copies_buffers) const;
  Status bind(ReadyContainer& ready, bool copies_buffers) const;

  std::shared_ptr<const Library> library_;
  AotiDevice& device_;
  std::span<const std::byte> blob_{};
  std::unique_ptr<Container> holder_{};               ///< Holds the copy of the blob; never runs.
  std::vector<std::shared_ptr<std::byte>> placed_{};  ///< What entries lie in.
  std::vector<Constant> constants_{};
  bool has_state_ = false;
  bool has_folded_ = false;
};

}  // namespace tandem::aoti
