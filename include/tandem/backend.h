#pragma once

#include <tandem/argument.h>
#include <tandem/export.h>
#include <tandem/options.h>
#include <tandem/recorder.h>
#include <tandem/result.h>
#include <tandem/stream_ref.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// How to write a delegate. Three objects: a Backend prepares payloads, a Delegate is one prepared payload, a Context
/// is what one running instance of a method needs for it.
///
/// A backend is told a stream and addresses. It never picks a stream, waits for the device, or touches the legacy
/// stream. Structs that cross a plug-in border start with their size and version.
namespace tandem {

inline constexpr std::uint32_t kBackendAbiVersion = 1;

/// Named blobs of the program and its data files, external ones first.
class TANDEM_EXPORT NamedData {
 public:
  virtual ~NamedData() = default;
  /// Lifetime: the bytes are mapped memory that stays valid while the program lives; nothing is copied or touched.
  /// Errors: NotFound, naming the key and the files that were searched.
  [[nodiscard]] virtual Result<std::span<const std::byte>> find(std::string_view key) const = 0;
};

/// One `key: bytes` pair that the exporter left for the backend.
struct CompileSpec {
  std::string_view key{};
  std::span<const std::byte> value{};
};

/// What a delegate's argument is, as far as the program's bytes tell.
struct ArgumentSpec {
  Argument::Kind kind = Argument::Kind::None;
  ScalarType dtype = ScalarType::Float;   ///< Kind Tensor.
  std::span<const std::int64_t> sizes{};  ///< Upper bounds where `dynamic`.
  std::span<const std::uint8_t> dim_order{};
  bool dynamic = false;
  const ArgumentSpec* const* items = nullptr;  ///< Tensor lists: `item_count` entries, nullptr stands for None.
  std::size_t item_count = 0;
  /// Numbers, texts and lists of them as the program stores them (a step may compute others before the call).
  /// Null for tensors.
  const Argument* stored = nullptr;
};

/// Everything that is known when a method is loaded.
///
/// Lifetime: views stay valid while the program lives; `options` only during prepare().
struct LoadContext {
  std::uint32_t struct_size = sizeof(LoadContext);
  std::uint32_t version = kBackendAbiVersion;
  std::string_view backend_id{};  ///< As written in the program; an alias shows here.
  std::string_view method{};
  int delegate = -1;  ///< Index within the method.
  DeviceId device{};  ///< Where the method is placed.
  std::span<const CompileSpec> compile_specs{};
  std::span<const ArgumentSpec> arguments{};  ///< Inputs, then outputs.
  const NamedData* named_data = nullptr;
  const BackendOptions* options = nullptr;  ///< Of this load; may be null.
  std::string_view folder{};                ///< Of the program's file, as an absolute path; empty if it has none.
};

struct DelegateCapabilities {
  std::uint32_t struct_size = sizeof(DelegateCapabilities);
  std::uint32_t version = kBackendAbiVersion;
  bool runs_on_host = true;        ///< enqueue() does its work on the calling thread.
  bool capturable = false;         ///< enqueue() may run while the stream is captured.
  bool recordable = false;         ///< enqueue() can put its work into EnqueueArgs::recorder.
  bool stateful = false;           ///< Keeps state that outlives a run.
  bool prefers_graph = false;      ///< Asks for GraphPolicy::On where the method was loaded with Auto.
  std::uint32_t warmup_runs = 0;   ///< Runs before the first capture.
  std::uint32_t max_contexts = 0;  ///< Contexts that may run at the same time; 0 = any number.
  std::uint32_t side_streams = 0;  ///< Streams of its own that a run forks to, and joins before it is over.
  bool checks_sizes = false;       ///< Refuses all sizes that it does not take by itself, 0 included.
  bool shares_buffers = false;     ///< Its backend was told to share named buffers between methods.
  std::uint32_t alignment = 1;     ///< Of the tensors that Tandem places, in bytes; a power of two up to 256.
};

enum class AccessMode : std::uint8_t {
  None,  ///< Not touched.
  Read,
  Write,   ///< Overwritten without being read.
  Update,  ///< Read and written in place.
};

/// An output that is an input, updated in place.
struct AliasedOutput {
  std::size_t output = 0;  ///< Among the outputs.
  std::size_t input = 0;   ///< Among the arguments.
};

/// A tensor of the model in a MutableBuffer.
struct BufferTensor {
  std::string name{};  ///< Fully qualified name in the model; empty if the library does not tell.
  ScalarType dtype = ScalarType::Float;
  std::vector<std::int64_t> sizes{};
  std::vector<std::int64_t> strides{};  ///< In elements.
  std::int64_t offset = 0;              ///< In elements, from the start of the memory.
};

/// Memory that a context keeps from run to run and may write: one storage of the model, with the tensors in it.
struct MutableBuffer {
  std::vector<BufferTensor> tensors{};
  /// Contents before the first run, all of them. Lifetime: the program's.
  std::span<const std::byte> initial{};
  bool on_host = true;  ///< False: in the memory of the method's device.
};

/// Sizes that a delegate takes on one axis of an input. Default: nothing known.
struct SizeBounds {
  std::int64_t min = 1;
  std::int64_t max = INT64_MAX;
  bool zero_unknown = true;  ///< A `min` of 1 is caution: nothing says that size 0 works, and nothing that it fails.
};

/// What a Context found out about its outputs and memory at one set of shapes.
struct BoundLayout {
  std::uint32_t struct_size = sizeof(BoundLayout);
  std::uint32_t version = kBackendAbiVersion;
  std::size_t scratch_bytes = 0;  ///< Wanted at `scratch` in every enqueue() from now on; 64-byte aligned.
};

/// Where one output of a run is. Written by the Context.
struct OutputResult {
  enum class Kind : std::uint8_t {
    InPlace,  ///< Written at the argument's own address in the planned layout, with `sizes`; null: as they are.
    View,     ///< In other memory (of an input, a constant, or the context): `data`, `sizes`, `strides`, `dtype`.
    Number,   ///< A symbolic number: `number` and `real` have it, converted; `dtype` is its own type.
  };
  Kind kind = Kind::InPlace;
  ScalarType dtype = ScalarType::Float;
  std::uint8_t rank = 0;
  const void* data = nullptr;
  const std::int64_t* sizes = nullptr;    ///< `rank` entries.
  const std::int64_t* strides = nullptr;  ///< `rank` entries; View only.
  std::int64_t number = 0;
  double real = 0;
};

/// One call.
///
/// Lifetime: what an OutputResult points at stays valid until the context's next enqueue(), bind() or destruction.
struct EnqueueArgs {
  std::uint32_t struct_size = sizeof(EnqueueArgs);
  std::uint32_t version = kBackendAbiVersion;
  StreamRef stream;
  std::span<Argument* const> arguments{};  ///< Inputs, then outputs, as in the program.
  std::span<OutputResult> outputs{};       ///< One per output argument.
  std::span<std::byte> scratch{};          ///< At least the bound `scratch_bytes`.
  bool rebind = false;                     ///< Out: the run learned its layout; bind() again before the next run.
  /// Not null: the work goes here, and nothing to the stream. Outputs are reported as in a run; what they are then is
  /// what they will be each time the graph runs. NotSupported, if this call's work cannot be recorded: it then runs as
  /// usual.
  Recorder* recorder = nullptr;
  /// With a recorder: the work goes to the stream after all, which captures. It must not wait, and `recorder` only
  /// keeps memory.
  bool is_captured = false;

  explicit EnqueueArgs(StreamRef on) noexcept : stream{on} {}
};

/// What one running instance needs for one delegate.
/// Thread-safety: none; the runtime calls it from one thread at a time.
class TANDEM_EXPORT DelegateContext {
 public:
  virtual ~DelegateContext() = default;
  /// Called before the first enqueue() and whenever the inputs' sizes differ from the last call's. May be slow, but
  /// costs little where the sizes were bound before.
  [[nodiscard]] virtual Result<BoundLayout> bind(std::span<const Argument* const> arguments) = 0;
  /// Runs once, in the stream's order.
  /// Errors: BackendFailed, with the backend's own code and text.
  [[nodiscard]] virtual Status enqueue(EnqueueArgs& args) = 0;
};

/// One prepared payload: weights and code, shared by all instances.
/// Thread-safety: const members may run concurrently.
class TANDEM_EXPORT Delegate {
 public:
  virtual ~Delegate() = default;
  [[nodiscard]] virtual DelegateCapabilities capabilities() const = 0;
  /// How many of the arguments are outputs (they come last).
  [[nodiscard]] virtual std::size_t output_count() const = 0;
  /// One entry per argument. The default: inputs are read, outputs written.
  [[nodiscard]] virtual std::vector<AccessMode> accesses(std::size_t argument_count) const;
  /// Outputs whose bytes are those of an input that accesses() says is updated. The runtime makes both arguments one
  /// tensor where the program allows it. Where it does not, they have different addresses, and the context copies.
  [[nodiscard]] virtual std::vector<AliasedOutput> aliased_outputs() const { return {}; }
  /// The memory that contexts keep from run to run, as far as the runtime may provide it: it then exists once per
  /// State, and what methods share exists once for them. A delegate that has any is stateful.
  [[nodiscard]] virtual std::span<const MutableBuffer> buffers() const { return {}; }
  /// By input and axis; an input without entries has unknown bounds. Calls with other sizes are refused before bind().
  /// A `min` above 1 holds for inputs of the method alone: sizes that steps compute may be smaller.
  [[nodiscard]] virtual std::vector<std::vector<SizeBounds>> input_bounds() const { return {}; }
  /// Errors: OutOfMemory; BackendFailed.
  [[nodiscard]] virtual Result<std::unique_ptr<DelegateContext>> new_context() const = 0;
  /// The same for a delegate with buffers(): `memory` has one entry each, 64-byte aligned, with the initial contents or
  /// what earlier runs left there.
  /// Lifetime: the memory outlives the context. Errors: OutOfMemory; BackendFailed.
  [[nodiscard]] virtual Result<std::unique_ptr<DelegateContext>> new_context_on(
      std::span<std::byte* const> /*memory*/) const {
    return new_context();
  }
};

/// Prepares the payloads of one backend id.
/// Thread-safety: prepare() may run concurrently with itself.
class TANDEM_EXPORT Backend {
 public:
  virtual ~Backend() = default;
  /// Whether delegates of this backend can run here; the text says what is missing.
  [[nodiscard]] virtual Status available() const { return {}; }
  /// Loads weights and compiles; nothing of that is left for a running path. Blocks.
  /// Errors: InvalidProgram, the payload is malformed; NotFound, a key is missing; IncompatibleDelegate.
  [[nodiscard]] virtual Result<std::unique_ptr<Delegate>> prepare(std::span<const std::byte> payload,
                                                                  const LoadContext& context) const = 0;
  /// Process-wide options of this backend. Unknown keys are ignored, as in ExecuTorch.
  [[nodiscard]] virtual Status set_options(const BackendOptions& /*options*/) { return {}; }
};

/// Backends by id.
/// Thread-safety: all members may be called from any thread.
class TANDEM_EXPORT BackendRegistry {
 public:
  BackendRegistry();
  ~BackendRegistry();
  BackendRegistry(const BackendRegistry&) = delete;
  BackendRegistry& operator=(const BackendRegistry&) = delete;

  /// The process-wide registry; holds the backends that this library was built with.
  [[nodiscard]] static BackendRegistry& global();

  /// Errors: InvalidState, the id is taken.
  [[nodiscard]] Status register_backend(std::string id, std::shared_ptr<Backend> backend);
  /// Makes `alias` another name of `id`; programs that name either run on the same backend.
  /// Errors: NotFound, no backend `id`; InvalidState, `alias` is taken.
  [[nodiscard]] Status register_alias(std::string alias, std::string_view id);
  /// Null if nobody registered the id.
  [[nodiscard]] std::shared_ptr<Backend> find(std::string_view id) const;
  [[nodiscard]] std::vector<std::string> ids() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem
