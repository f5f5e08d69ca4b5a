#include "backends/aoti/container.h"

#include "base/log.h"

#include <exception>
#include <utility>

namespace tandem::aoti {

namespace {

std::string without_line_end(std::string text) {
  text.erase(text.find_last_not_of(" \n\r") + 1);
  return text;
}

}  // namespace

/// Libraries of torch 2.11 and older keep no error: they only print it.
Error Container::failure(const char* what, std::int32_t status, const char* exception) {
  std::string printed = without_line_end(std::exchange(state_.text, {}));
  std::string text;
  if (exception != nullptr) {
    text = exception;
  } else if (const auto last_error = library_->symbols().last_error; last_error != nullptr) {
    const char* message = nullptr;
    if (last_error(&message) == 0 && message != nullptr) text = message;
  }
  text = without_line_end(std::move(text));
  if (text.empty()) {
    constexpr std::string_view kPrefix = "Error: ";
    text = printed.starts_with(kPrefix) ? printed.substr(kPrefix.size()) : std::move(printed);
  } else if (printed.find(text) == std::string::npos) {
    log_text(printed);
  }
  if (!state_.refusal.empty()) text += (text.empty() ? "" : "; ") + std::exchange(state_.refusal, {});
  return Error{state_.refusal_code, what}.with_native(Origin::Aoti, status, std::move(text));
}

template <class Function, class... Arguments>
Status Container::call(const char* what, Function function, Arguments... arguments) {
  const CallScope scope{state_};
  const DeviceCalls calls{*device_};
  state_.refusal.clear();
  state_.refusal_code = ErrorCode::BackendFailed;
  state_.text.clear();
  // The library's own guards do not cover all of its entry points, a wrong count for example.
  try {
    const std::int32_t status = function(arguments...);
    if (status != 0) return failure(what, status, nullptr);
    if (!state_.text.empty()) log_text(std::exchange(state_.text, {}));
    return {};
  } catch (const std::exception& error) {
    return failure(what, 1, error.what());
  } catch (...) {
    return failure(what, 1, "unknown exception");
  }
}

Result<std::unique_ptr<Container>> Container::create(std::shared_ptr<const Library> library, AotiDevice& device) {
  const AotiSymbols& symbols = library->symbols();
  TANDEM_TRY(std::shared_ptr<AotiDevice> own, device.for_container());
  std::unique_ptr<Container> container{new Container{std::move(library), std::move(own)}};
  TANDEM_CHECK_OK(container->call("model container not created", symbols.create, &container->handle_, std::size_t{1},
                                  device.name(), static_cast<const char*>(nullptr)));
  TANDEM_CHECK_OK(
      container->call("number of inputs", symbols.input_count, container->handle_, &container->input_count_));
  TANDEM_CHECK_OK(
      container->call("number of outputs", symbols.output_count, container->handle_, &container->output_count_));
  return container;
}

Container::~Container() {
  if (handle_ != nullptr) {
    const Status deleted = call("model container not deleted", library_->symbols().destroy, handle_);
    if (!deleted.ok()) base::log(LogLevel::Warning, deleted.error().to_string());
  }
  device_->unload();
}

std::string Container::input_name(std::size_t input) const {
  const auto get = library_->symbols().input_name;
  const char* name = nullptr;
  return get != nullptr && get(handle_, input, &name) == 0 && name != nullptr ? name : "";
}

Result<std::vector<ConstantInfo>> Container::constants() {
  const AotiSymbols& symbols = library_->symbols();
  if (symbols.constant_count == nullptr || symbols.constant_name == nullptr || symbols.constant_folded == nullptr ||
      symbols.constant_bytes == nullptr) {
    return Error{ErrorCode::IncompatibleDelegate,
                 "the library does not list its constants, so its weights' size can't be checked"};
  }
  std::size_t count = 0;
  TANDEM_CHECK_OK(call("number of constants", symbols.constant_count, handle_, &count));
  std::vector<ConstantInfo> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    ConstantInfo& info = list[i];
    const char* text = nullptr;
    TANDEM_CHECK_OK(call("name of a constant", symbols.constant_name, handle_, i, &text));
    info.name = text != nullptr ? text : "";
    TANDEM_CHECK_OK(call("folding of a constant", symbols.constant_folded, handle_, i, &info.folded));
    TANDEM_CHECK_OK(call("size of a constant", symbols.constant_bytes, handle_, i, &info.bytes));
    text = nullptr;
    if (symbols.constant_fqn != nullptr) {
      TANDEM_CHECK_OK(call("name of a constant", symbols.constant_fqn, handle_, i, &text));
    }
    info.fqn = text != nullptr ? text : "";
    if (symbols.constant_dtype != nullptr) {
      TANDEM_CHECK_OK(call("dtype of a constant", symbols.constant_dtype, handle_, i, &info.dtype));
    }
    std::int32_t kind = 0;
    if (symbols.constant_type != nullptr) {
      TANDEM_CHECK_OK(call("kind of a constant", symbols.constant_type, handle_, i, &kind));
    }
    info.kind = static_cast<ConstantKind>(kind);
    info.tells_kind = symbols.constant_type != nullptr;
  }
  return list;
}

Result<std::vector<AtenTensor*>> Container::load_blob(std::span<const std::byte> blob) {
  const auto load = library_->symbols().load_blob;
  if (load == nullptr) {
    return Error{ErrorCode::IncompatibleDelegate, "the library has its weights built in and takes none from outside"};
  }
  std::vector<AtenTensor*> handles;
  state_.blobs = &handles;
  Status loaded = call("weights not loaded", load, handle_, reinterpret_cast<const std::uint8_t*>(blob.data()));
  state_.blobs = nullptr;
  if (!loaded.ok()) return std::move(loaded).error();
  return handles;
}

Status Container::bind(std::span<const ConstantPair> constants) {
  return call("constants not bound", library_->symbols().bind_constants, handle_, constants.data(), constants.size(),
              /*inactive=*/false, /*validate_full=*/true);
}

Status Container::fold() {
  const auto fold = library_->symbols().fold_constants;
  if (fold == nullptr) return {};
  const DeviceCalls calls{*device_};
  return call("constants not folded", fold, handle_, /*inactive=*/false, device_->stream(),
              static_cast<void*>(nullptr));
}

Status Container::run(std::span<AtenTensor*> inputs, std::span<AtenTensor*> outputs, void* stream) {
  return call("the delegate's run failed", library_->symbols().run, handle_, inputs.data(), inputs.size(),
              outputs.data(), outputs.size(), stream, static_cast<void*>(nullptr));
}

}  // namespace tandem::aoti
