#include "backends/custom/instance.h"

#include "base/guarded.h"
#include "base/log.h"

#include <utility>

namespace tandem::custom {
namespace {

/// Nothing for a number that is no access.
std::optional<AccessMode> access_mode(std::uint8_t access, bool is_output) noexcept {
  switch (access) {
    case TANDEM_CUSTOM_DEFAULT:
      return is_output ? AccessMode::Write : AccessMode::Read;
    case TANDEM_CUSTOM_READ:
      return AccessMode::Read;
    case TANDEM_CUSTOM_WRITE:
      return AccessMode::Write;
    case TANDEM_CUSTOM_UPDATE:
      return AccessMode::Update;
    case TANDEM_CUSTOM_UNTOUCHED:
      return AccessMode::None;
    default:
      return std::nullopt;
  }
}

Error bad_argument(const char* what, std::size_t argument) {
  return Error{ErrorCode::IncompatibleDelegate, what}.with_argument(static_cast<int>(argument));
}

}  // namespace

Error ErrorText::error(const char* function, std::int32_t code) noexcept {
  text_.back() = '\0';
  return Error{ErrorCode::BackendFailed, std::string{"the library's "} + function + "() failed"}.with_native(
      Origin::Custom, code, text_.data());
}

template <class Function>
Status Instance::on_device(Function&& function) const {
  if (!setup_->stream) return function(nullptr);
  return launch_on(setup_->stream->ref().get(), function);
}

Result<std::unique_ptr<Instance>> Instance::create(std::shared_ptr<const Setup> setup) {
  std::unique_ptr<Instance> instance{new Instance{std::move(setup)}};
  const Setup& made_of = instance->setup();
  std::vector<std::uint8_t> accesses(made_of.arguments.size() + 1, TANDEM_CUSTOM_DEFAULT);  // never null
  TandemCustomSetup call{};
  call.struct_size = sizeof call;
  call.argument_count = static_cast<std::uint32_t>(made_of.arguments.size());
  call.arguments = made_of.arguments.pointers();
  call.blob = made_of.blob.empty() ? nullptr : made_of.blob.data();
  call.blob_bytes = made_of.blob.size();
  call.device_type = static_cast<std::int32_t>(made_of.device.type);
  call.device_index = made_of.device.index;
  call.output_count = 1;
  call.accesses = accesses.data();
  if (instance->table().create != nullptr) TANDEM_CHECK_OK(instance->call_create(call));
  // What it enqueued is ordered before calls on any stream.
  if (made_of.stream) TANDEM_CHECK_OK(made_of.stream->synchronize());
  TANDEM_CHECK_OK(instance->read_declaration(call));
  return instance;
}

Status Instance::call_create(TandemCustomSetup& call) {
  ErrorText text;
  call.error = text.data();
  call.error_bytes = text.size();
  return on_device([&](void* stream) {
    return base::guarded(ErrorCode::BackendFailed, [&]() -> Status {
      call.stream = stream;
      if (const std::int32_t code = table().create(&call); code != 0) return text.error("create", code);
      state_ = call.state;
      created_ = true;
      return {};
    });
  });
}

Status Instance::read_declaration(const TandemCustomSetup& call) {
  const ArgumentTable& arguments = setup_->arguments;
  if (call.output_count > arguments.size()) {
    return Error{ErrorCode::InvalidProgram, "the delegate call has fewer arguments than the library has outputs"}
        .with_expected("at least " + std::to_string(call.output_count), std::to_string(arguments.size()));
  }
  declaration_.output_count = call.output_count;
  const std::size_t first_output = arguments.size() - call.output_count;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_output = i >= first_output;
    const std::int32_t kind = arguments[i].kind;
    const std::optional<AccessMode> mode = access_mode(call.accesses[i], is_output);
    if (!mode) {
      return bad_argument("the library declares an access that there is not", i)
          .with_expected("0 to 4", std::to_string(call.accesses[i]));
    }
    declaration_.accesses.push_back(*mode);
    if (!is_output) continue;
    if (*mode != AccessMode::Write && *mode != AccessMode::Update) {
      return bad_argument("the library does not write to an output", i)
          .with_expected("write or update", *mode == AccessMode::Read ? "read" : "untouched");
    }
    if (kind != TANDEM_CUSTOM_TENSOR && kind != TANDEM_CUSTOM_NONE) {
      return Error{ErrorCode::InvalidType, "an output of a custom delegate is a number"}.with_argument(
          static_cast<int>(i));
    }
    if (setup_->open[i] != 0 && table().shapes == nullptr) {
      return bad_argument("the program leaves the sizes of an output open, and the library has no shapes()", i);
    }
  }
  return {};
}

Instance::~Instance() {
  if (!created_ || table().destroy == nullptr) return;
  const Status destroyed = on_device([this](void* /*stream*/) {
    return base::guarded(ErrorCode::BackendFailed, [this]() -> Status {
      table().destroy(state_);
      return {};
    });
  });
  if (!destroyed.ok()) {
    base::log(LogLevel::Warning, "a custom delegate's state is not destroyed: " + destroyed.error().to_string());
  }
}

}  // namespace tandem::custom
