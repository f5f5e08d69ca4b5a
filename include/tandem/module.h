#pragma once

#include <tandem/export.h>
#include <tandem/method.h>
#include <tandem/options.h>
#include <tandem/program.h>
#include <tandem/result.h>
#include <tandem/value.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tandem {

/// A program file and its loaded methods, with the calls that users of ExecuTorch's Module know.
///
/// Everything loads when it is first needed. Unlike ExecuTorch's, it may be used from several threads, outputs belong
/// to the caller, and an input that is not set again keeps its value.
///
/// Thread-safety: every member may be called from any thread. `set_input` then `execute` from two threads is one
///   method's pending inputs shared by both: pass the inputs to execute() there.
/// Source: the member names follow ExecuTorch's extension/module/module.h.
class TANDEM_EXPORT Module {
 public:
  explicit Module(std::filesystem::path file, std::vector<std::filesystem::path> data_files = {},
                  MethodOptions options = {});
  explicit Module(std::shared_ptr<const Program> program, MethodOptions options = {});
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Loads the program; no-op if loaded. Errors: as Program::load.
  [[nodiscard]] Status load();
  /// Also keeps `options` for every method that is loaded later.
  [[nodiscard]] Status load(LoadBackendOptionsMap options);
  [[nodiscard]] bool is_loaded() const;
  /// Null before load().
  [[nodiscard]] std::shared_ptr<const Program> program() const;

  [[nodiscard]] Result<std::size_t> num_methods();
  [[nodiscard]] Result<std::unordered_set<std::string>> method_names();
  /// Works without loading the method. Errors: MethodNotFound.
  [[nodiscard]] Result<MethodMeta> method_meta(const std::string& method);

  /// No-op if loaded. `options`, if given, override those of load(). Errors: as Method::load.
  [[nodiscard]] Status load_method(const std::string& method, const LoadBackendOptionsMap* options = nullptr);
  [[nodiscard]] Status load_forward(const LoadBackendOptionsMap* options = nullptr) {
    return load_method("forward", options);
  }
  /// Whether it was loaded. A run that is under way keeps the method until it ends.
  bool unload_method(const std::string& method);
  bool unload_forward() { return unload_method("forward"); }
  [[nodiscard]] bool is_method_loaded(const std::string& method) const;
  /// The loaded method; loads it if necessary. Errors: as Method::load.
  [[nodiscard]] Result<std::shared_ptr<Method>> method(const std::string& method);

  /// Back to the initial bytes of the method's mutable buffers. Blocks; nothing happens if it has none.
  /// Errors: as State::reset(); as load_method().
  [[nodiscard]] Status reset_state(const std::string& method = "forward");

  /// Sets inputs 0..k-1, keeps the others as they were set before, runs, returns all outputs.
  ///
  /// Errors: InvalidState, an input was never set; InvalidArgument, more values than inputs; as Method::execute.
  [[nodiscard]] Result<std::vector<Value>> execute(const std::string& method, const std::vector<Value>& inputs = {});
  [[nodiscard]] Result<std::vector<Value>> execute(const std::string& method, const Value& input);
  [[nodiscard]] Result<std::vector<Value>> forward(const std::vector<Value>& inputs = {});
  [[nodiscard]] Result<std::vector<Value>> forward(const Value& input);
  /// The first output. Errors: InvalidArgument, there is none; as execute().
  [[nodiscard]] Result<Value> get(const std::string& method, const std::vector<Value>& inputs = {});

  /// Keeps a copy of `value` as the input `index`; of a tensor on a device the handle, so that its bytes stay the
  /// caller's. Errors: as Method::execute finds for this input.
  [[nodiscard]] Status set_input(const std::string& method, const Value& value, std::size_t index);
  [[nodiscard]] Status set_input(const Value& value, std::size_t index) { return set_input("forward", value, index); }
  /// Errors: InvalidArgument, another count than the method's; as set_input().
  [[nodiscard]] Status set_inputs(const std::string& method, const std::vector<Value>& values);
  [[nodiscard]] Status set_inputs(const std::vector<Value>& values) { return set_inputs("forward", values); }

  /// Sends output `index` to memory of the caller's from now on; an undefined tensor undoes it.
  /// Shapes: as ExecuteOptions::outputs.
  /// Errors: InvalidArgument, wrong layout, too small, elements overlap each other or another output; InvalidType, the
  ///   output is not a tensor, or of another dtype.
  [[nodiscard]] Status set_output(const std::string& method, const Tensor& tensor, std::size_t index = 0);
  [[nodiscard]] Status set_output(const Tensor& tensor, std::size_t index = 0) {
    return set_output("forward", tensor, index);
  }
  /// Errors: InvalidArgument, another count than the method's; as set_output().
  [[nodiscard]] Status set_outputs(const std::string& method, const std::vector<Tensor>& tensors);

  /// The outputs of the last successful execute(). Errors: InvalidState, there was none.
  [[nodiscard]] Result<std::vector<Value>> get_outputs(const std::string& method = "forward");
  /// Errors: InvalidArgument, no output `index`; as get_outputs().
  [[nodiscard]] Result<Value> get_output(const std::string& method, std::size_t index = 0);
  [[nodiscard]] Result<Value> get_output(std::size_t index = 0) { return get_output("forward", index); }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Process-wide options of a backend, as ExecuTorch's `set_option(backend_id, options)`.
/// Errors: BackendMissing.
TANDEM_EXPORT Status set_option(std::string_view backend_id, const BackendOptions& options);

}  // namespace tandem
