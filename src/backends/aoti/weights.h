#pragma once

#include "backends/aoti/container.h"
#include "backends/aoti/payload.h"

#include <tandem/backend.h>
#include <tandem/result.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::aoti {

/// A container, ready to run once its constants are bound. The container goes first, what it runs on last.
struct ReadyContainer {
  std::shared_ptr<AotiDevice> device{};
  std::vector<DeviceBytes> buffers{};  ///< Of its own, if it has any: see Weights::make_checker().
  std::unique_ptr<Container> container{};
};

/// Addresses for Weights::bind().
[[nodiscard]] std::vector<std::byte*> addresses_of(std::span<const DeviceBytes> memory);

/// The constants of one delegate, where its device reads them, shared by all its containers.
///
/// Parameters and tensor constants exist once per delegate. Buffers are what a model may write to (the library does
/// not tell which ones it does), so whoever runs a container provides memory for them; constants of a kind that the
/// library does not tell count as buffers. Folded constants are computed per container.
///
/// A buffer is its storage in the model: constants whose entries name one storage key lie in one buffer, and those of
/// a blob are one buffer each. Equal initial bytes say nothing: exporters store them once.
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

  /// A container; with buffers(), it can run after bind().
  [[nodiscard]] Result<ReadyContainer> make_container() const;
  /// Gives the container its constants, with the buffers in `memory`, one entry each; again if they move. Folds.
  /// Lifetime: the memory outlives the container, or its next bind().
  [[nodiscard]] Status bind(ReadyContainer& ready, std::span<std::byte* const> memory) const;
  /// Memory that containers may write to. Empty also if the library cannot be given its constants one by one.
  [[nodiscard]] std::span<const MutableBuffer> buffers() const noexcept { return buffers_; }
  /// Memory for buffers(), with their initial contents, for a container that nobody else may see. Blocks.
  [[nodiscard]] Result<std::vector<DeviceBytes>> make_buffers(AotiDevice& device) const;
  /// A container of another image of the same library, with buffers of its own. It never runs the model.
  [[nodiscard]] Result<ReadyContainer> make_checker(std::shared_ptr<const Library> image) const;
  /// Whether a container may keep something from one run to the next.
  [[nodiscard]] bool has_state() const noexcept { return has_state_; }
  /// Tells whether all that a run may change is in buffers().
  [[nodiscard]] bool can_reset() const noexcept { return !has_state_ || !constants_.empty(); }

 private:
  /// One constant that is not folded.
  struct Constant {
    ConstantInfo info{};
    AtenTensor prototype{};     ///< dtype, device and geometry.
    std::byte* data = nullptr;  ///< First byte of its storage, if it is not in a buffer.
    std::size_t bytes = 0;      ///< Of the storage.
    std::size_t buffer = kNoBuffer;
  };
  static constexpr std::size_t kNoBuffer = SIZE_MAX;

  Weights(std::shared_ptr<const Library> library, AotiDevice& device) noexcept
      : library_{std::move(library)}, device_{device} {}
  Status load_blob(std::span<const std::byte> blob, std::span<const ConstantInfo> constants);
  Status load_entries(std::span<const ConstantEntry> entries, std::span<const ConstantInfo> constants,
                      const NamedData& named_data);
  Result<Constant> make_constant(const ConstantInfo& info, const ConstantEntry& entry, bool in_buffer,
                                 const NamedData& named_data);
  /// Puts a constant that may change into the buffer of its storage.
  void add_to_buffer(Constant& constant, std::string_view name, std::string storage,
                     std::span<const std::byte> initial);
  Result<ReadyContainer> make(std::shared_ptr<const Library> image) const;

  std::shared_ptr<const Library> library_;
  AotiDevice& device_;
  std::span<const std::byte> blob_{};
  std::unique_ptr<Container> holder_{};               ///< Holds the copy of the blob; never runs.
  std::vector<std::shared_ptr<std::byte>> placed_{};  ///< What entries lie in.
  std::vector<Constant> constants_{};
  std::vector<MutableBuffer> buffers_{};
  std::map<std::string, std::size_t, std::less<>> buffer_of_storage_{};
  bool has_state_ = false;
  bool has_folded_ = false;
};

}  // namespace tandem::aoti
