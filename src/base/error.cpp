#include <tandem/error.h>

#include <cstring>
#include <utility>

namespace tandem {

std::string_view name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::Internal:
      return "Internal";
    case ErrorCode::InvalidState:
      return "InvalidState";
    case ErrorCode::NotSupported:
      return "NotSupported";
    case ErrorCode::InvalidArgument:
      return "InvalidArgument";
    case ErrorCode::InvalidType:
      return "InvalidType";
    case ErrorCode::OperatorMissing:
      return "OperatorMissing";
    case ErrorCode::NotFound:
      return "NotFound";
    case ErrorCode::OutOfMemory:
      return "OutOfMemory";
    case ErrorCode::AccessFailed:
      return "AccessFailed";
    case ErrorCode::InvalidProgram:
      return "InvalidProgram";
    case ErrorCode::InvalidExternalData:
      return "InvalidExternalData";
    case ErrorCode::IncompatibleDelegate:
      return "IncompatibleDelegate";
    case ErrorCode::MethodNotFound:
      return "MethodNotFound";
    case ErrorCode::BackendMissing:
      return "BackendMissing";
    case ErrorCode::BackendFailed:
      return "BackendFailed";
    case ErrorCode::OrderViolation:
      return "OrderViolation";
    case ErrorCode::Busy:
      return "Busy";
    case ErrorCode::WouldBlock:
      return "WouldBlock";
    case ErrorCode::DeviceFault:
      return "DeviceFault";
  }
  return "Unknown";
}

namespace {

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::None:
      return "none";
    case Origin::Errno:
      return "errno";
    case Origin::DynamicLoader:
      return "dynamic loader";
    case Origin::Aoti:
      return "AOTInductor";
    case Origin::Cuda:
      return "CUDA";
    case Origin::Hip:
      return "HIP";
    case Origin::TensorRt:
      return "TensorRT";
    case Origin::Custom:
      return "custom";
  }
  return "unknown";
}

void fill(std::string& inner, const std::string& outer) {
  if (inner.empty()) inner = outer;
}
void fill(int& inner, int outer) {
  if (inner < 0) inner = outer;
}

}  // namespace

struct Error::Data {
  ErrorCode code;
  std::string message;
  std::string expected;
  std::string found;
  std::string raised_at;
  NativeError native;
  ErrorSite site;
};

Error::Error(ErrorCode code, std::string message, const char* raised_file, int raised_line)
    : data_{std::make_unique<Data>()} {
  const char* slash = std::strrchr(raised_file, '/');
  data_->code = code;
  data_->message = std::move(message);
  data_->raised_at = std::string{slash != nullptr ? slash + 1 : raised_file} + ":" + std::to_string(raised_line);
}
Error::Error(const Error& other) : data_{std::make_unique<Data>(*other.data_)} {}
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error& other) {
  if (this != &other) data_ = std::make_unique<Data>(*other.data_);
  return *this;
}
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

ErrorCode Error::code() const noexcept { return data_->code; }
const std::string& Error::message() const noexcept { return data_->message; }
const NativeError& Error::native() const noexcept { return data_->native; }
const ErrorSite& Error::site() const noexcept { return data_->site; }
const std::string& Error::expected() const noexcept { return data_->expected; }
const std::string& Error::found() const noexcept { return data_->found; }
const std::string& Error::raised_at() const noexcept { return data_->raised_at; }

Error&& Error::with_native(Origin origin, std::int64_t code, std::string text) && {
  data_->native = {origin, code, std::move(text)};
  return std::move(*this);
}
Error&& Error::with_expected(std::string expected, std::string found) && {
  data_->expected = std::move(expected);
  data_->found = std::move(found);
  return std::move(*this);
}
Error&& Error::with_file(std::string file) && {
  data_->site.file = std::move(file);
  return std::move(*this);
}
Error&& Error::with_method(std::string method) && {
  data_->site.method = std::move(method);
  return std::move(*this);
}
Error&& Error::with_backend(std::string backend, int delegate) && {
  data_->site.backend = std::move(backend);
  data_->site.delegate = delegate;
  return std::move(*this);
}
Error&& Error::with_op(std::string op) && {
  data_->site.op = std::move(op);
  return std::move(*this);
}
Error&& Error::with_key(std::string key) && {
  data_->site.key = std::move(key);
  return std::move(*this);
}
Error&& Error::with_field(std::string field) && {
  data_->site.field = std::move(field);
  return std::move(*this);
}
Error&& Error::with_device(std::string device) && {
  data_->site.device = std::move(device);
  return std::move(*this);
}
Error&& Error::with_instruction(int chain, int instruction) && {
  data_->site.chain = chain;
  data_->site.instruction = instruction;
  return std::move(*this);
}
Error&& Error::with_value(int value) && {
  data_->site.value = value;
  return std::move(*this);
}
Error&& Error::with_argument(int argument) && {
  data_->site.argument = argument;
  return std::move(*this);
}
Error&& Error::with_offset(std::uint64_t offset) && {
  data_->site.offset = offset;
  return std::move(*this);
}
Error&& Error::with_site(const ErrorSite& outer) && {
  ErrorSite& site = data_->site;
  fill(site.file, outer.file);
  fill(site.method, outer.method);
  fill(site.backend, outer.backend);
  fill(site.op, outer.op);
  fill(site.key, outer.key);
  fill(site.field, outer.field);
  fill(site.device, outer.device);
  fill(site.delegate, outer.delegate);
  fill(site.chain, outer.chain);
  fill(site.instruction, outer.instruction);
  fill(site.value, outer.value);
  fill(site.argument, outer.argument);
  if (!site.offset) site.offset = outer.offset;
  return std::move(*this);
}

std::string Error::to_string() const {
  std::string text{tandem::name_of(data_->code)};
  text += ": " + data_->message;
  if (!data_->expected.empty()) text += "; expected " + data_->expected;
  if (!data_->found.empty()) text += "; found " + data_->found;
  if (const NativeError& native = data_->native; native.origin != Origin::None) {
    text += "; ";
    text += name_of(native.origin);
    text += " " + std::to_string(native.code);
    if (!native.text.empty()) text += " (" + native.text + ")";
  }
  std::string where;
  const auto add = [&where](std::string_view label, const std::string& value) {
    if (value.empty()) return;
    if (!where.empty()) where += ", ";
    where += label;
    where += value;
  };
  const auto add_index = [&add](std::string_view label, int index) {
    if (index >= 0) add(label, std::to_string(index));
  };
  const ErrorSite& site = data_->site;
  add("file ", site.file);
  add("method ", site.method);
  add_index("chain ", site.chain);
  add_index("instruction ", site.instruction);
  add_index("delegate ", site.delegate);
  add("backend ", site.backend);
  add("operator ", site.op);
  add_index("argument ", site.argument);
  add_index("value ", site.value);
  add("key ", site.key);
  add("field ", site.field);
  if (site.offset) add("offset ", std::to_string(*site.offset));
  add("device ", site.device);
  if (!where.empty()) text += " [" + where + "]";
  return text;
}

}  // namespace tandem
