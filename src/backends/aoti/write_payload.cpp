#include "backends/aoti/write_payload.h"

#include <string>

namespace tandem::aoti {
namespace {

/// Little-endian fields, one after another without padding.
class Writer {
 public:
  void raw(std::string_view text) { append(text.data(), text.size()); }
  /// Precondition: shorter than 2^32; the reader refuses what does not fit.
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    raw(text);
  }
  template <class T>
  void number(T value) {
    append(&value, sizeof value);  // the format and x86-64 share the byte order
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  std::vector<std::byte> bytes_;
};

Error not_written(std::string message, std::string field) {
  return Error{ErrorCode::InvalidProgram, "delegate payload: " + std::move(message)}.with_field(std::move(field));
}

Status check_key(const Keys& keys, const char* field) {
  if (keys.size() != 1) return not_written("a key with several alternatives", field);
  if (keys[0].find('\n') != std::string::npos) return not_written("a key with a line break", field);
  return {};
}

}  // namespace

Result<std::vector<std::byte>> write_payload(const Payload& payload) {
  TANDEM_CHECK_OK(check_key(payload.library_keys, "so_key"));
  Writer writer;
  if (const auto* blob = std::get_if<Keys>(&payload.weights)) {
    TANDEM_CHECK_OK(check_key(*blob, "weights_key"));
    writer.raw(payload.library_keys[0] + "\n" + (*blob)[0]);
  } else {
    const auto& entries = std::get<std::vector<ConstantEntry>>(payload.weights);
    writer.raw("ETCUDAFQN3");
    writer.text(payload.library_keys[0]);
    writer.number(static_cast<std::uint32_t>(entries.size()));
    for (const ConstantEntry& entry : entries) {
      writer.text(entry.fqn);
      writer.text(entry.storage_key);
      writer.number(entry.storage_bytes);
      writer.number(static_cast<std::int32_t>(entry.dtype));
      writer.number(entry.device_type);
      writer.number(entry.storage_offset);
      if (entry.strides.size() != entry.sizes.size()) {
        return not_written("sizes and strides of different lengths", "constant[" + entry.fqn + "].strides");
      }
      writer.number(static_cast<std::uint32_t>(entry.sizes.size()));
      for (const std::int64_t size : entry.sizes) writer.number(size);
      for (const std::int64_t stride : entry.strides) writer.number(stride);
    }
  }
  std::vector<std::byte> bytes = writer.take();
  // Whatever the reader refuses is not written.
  TANDEM_TRY([[maybe_unused]] const Payload read, parse_payload(bytes, ""));
  return bytes;
}

}  // namespace tandem::aoti
