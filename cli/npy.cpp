#include "cli/npy.h"

#include "base/checked.h"
#include "base/errno_error.h"
#include "base/mapped_file.h"
#include "cli/strided.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::cli {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
/// What NumPy's writer pads the data to, and what the widest vector loads want.
constexpr std::size_t kAlignment = 64;

struct TypeCode {
  std::string_view code;  ///< Without the byte-order mark.
  ScalarType dtype;
};
constexpr std::array kTypeCodes{
    TypeCode{"b1", ScalarType::Bool},         TypeCode{"u1", ScalarType::Byte},
    TypeCode{"i1", ScalarType::Char},         TypeCode{"i2", ScalarType::Short},
    TypeCode{"i4", ScalarType::Int},          TypeCode{"i8", ScalarType::Long},
    TypeCode{"u2", ScalarType::UInt16},       TypeCode{"u4", ScalarType::UInt32},
    TypeCode{"u8", ScalarType::UInt64},       TypeCode{"f2", ScalarType::Half},
    TypeCode{"f4", ScalarType::Float},        TypeCode{"f8", ScalarType::Double},
    TypeCode{"c8", ScalarType::ComplexFloat}, TypeCode{"c16", ScalarType::ComplexDouble},
};

/// The unsigned type that stands for one that NumPy lacks.
std::optional<ScalarType> stand_in(ScalarType dtype) noexcept {
  switch (dtype) {
    case ScalarType::BFloat16:
      return ScalarType::UInt16;
    case ScalarType::Float8E5M2:
    case ScalarType::Float8E4M3FN:
    case ScalarType::Float8E5M2FNUZ:
    case ScalarType::Float8E4M3FNUZ:
      return ScalarType::Byte;
    default:
      return std::nullopt;
  }
}

struct Header {
  std::string descr{};
  bool fortran_order = false;
  std::vector<std::int64_t> shape{};
};

/// Reads the header's text, a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::size_t offset) noexcept : text_{text}, base_{offset} {}

  Result<Header> parse() {
    Header header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    TANDEM_CHECK_OK(expect('{'));
    while (!accept('}')) {
      TANDEM_TRY(const std::string key, text_literal());
      TANDEM_CHECK_OK(expect(':'));
      bool* seen = nullptr;
      if (key == "descr") {
        seen = &has_descr;
        if (peek() == '[') {
          return Error{ErrorCode::NotSupported, "structured arrays are not supported"}.with_field("descr").with_offset(
              offset());
        }
        TANDEM_TRY(header.descr, text_literal());
      } else if (key == "fortran_order") {
        seen = &has_order;
        TANDEM_TRY(header.fortran_order, truth_literal());
      } else if (key == "shape") {
        seen = &has_shape;
        TANDEM_TRY(header.shape, shape_literal());
      } else {
        return malformed("'descr', 'fortran_order' or 'shape'", "'" + printable(key) + "'");
      }
      if (std::exchange(*seen, true)) return malformed("each key once", "'" + key + "' twice");
      if (!accept(',') && peek() != '}') return malformed("',' or '}'", found());
    }
    if (peek() != '\0') return malformed("the end of the header", found());
    if (!has_descr || !has_order || !has_shape) {
      return malformed("'descr', 'fortran_order' and 'shape'", "a header without one of them");
    }
    return header;
  }

 private:
  [[nodiscard]] std::size_t offset() const noexcept { return base_ + position_; }

  [[nodiscard]] Error malformed(std::string expected, std::string got) const {
    return Error{ErrorCode::InvalidArgument, "malformed .npy header"}
        .with_expected(std::move(expected), std::move(got))
        .with_offset(offset());
  }

  /// The next character that is no blank; '\0' at the end (a NUL in the text never fits either).
  char peek() noexcept {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  std::string found() { return peek() == '\0' ? "the end" : "'" + printable(text_.substr(position_, 1)) + "'"; }
  bool accept(char wanted) noexcept {
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }
  Status expect(char wanted) {
    if (!accept(wanted)) return malformed(fmt::format("'{}'", wanted), found());
    return {};
  }
  bool accept_word(std::string_view word) noexcept {
    static_cast<void>(peek());
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  Result<std::string> text_literal() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return malformed("a quoted text", found());
    const std::size_t begin = position_ + 1;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) return malformed("a closing quote", "the end");
    position_ = end + 1;
    return std::string{text_.substr(begin, end - begin)};
  }
  Result<bool> truth_literal() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    return malformed("True or False", found());
  }
  Result<std::int64_t> extent_literal() {
    if (peek() < '0' || peek() > '9') return malformed("a size", found());
    std::int64_t extent = 0;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      if (__builtin_mul_overflow(extent, 10, &extent) ||
          __builtin_add_overflow(extent, text_[position_] - '0', &extent)) {
        return malformed("a size below 2^63", "a larger number");
      }
      ++position_;
    }
    return extent;
  }
  Result<std::vector<std::int64_t>> shape_literal() {
    std::vector<std::int64_t> shape;
    TANDEM_CHECK_OK(expect('('));
    while (!accept(')')) {
      if (shape.size() == kMaxRank) {
        return malformed(fmt::format("at most {} dimensions", kMaxRank), "more");
      }
      TANDEM_TRY(const std::int64_t extent, extent_literal());
      shape.push_back(extent);
      if (!accept(',') && peek() != ')') return malformed("',' or ')'", found());
    }
    return shape;
  }

  std::string_view text_;
  std::size_t base_;
  std::size_t position_ = 0;
};

Error unsupported(std::string_view what, std::string_view descr) {
  return Error{ErrorCode::NotSupported, fmt::format("{} are not supported", what)}
      .with_expected("little-endian bool, int, uint, float or complex elements", "'" + printable(descr) + "'")
      .with_field("descr");
}

Result<ScalarType> dtype_of(std::string_view descr, std::optional<ScalarType> wanted) {
  if (descr.size() < 2) return unsupported("such elements", descr);
  const char order = descr[0];
  const std::string_view code = descr.substr(1);
  switch (code[0]) {
    case 'O':
      return unsupported("objects", descr);
    case 'S':
    case 'U':
      return unsupported("texts", descr);
    case 'M':
    case 'm':
      return unsupported("dates and time spans", descr);
    default:
      break;
  }
  const bool one_byte = code == "b1" || code == "u1" || code == "i1";
  if (order == '>' && !one_byte) return unsupported("big-endian arrays", descr);
  if (order != '<' && order != '>' && order != '|') return unsupported("such elements", descr);
  if (wanted && ((code == "V2" && item_bytes(*wanted) == 2) || (code == "V1" && item_bytes(*wanted) == 1))) {
    return *wanted;
  }
  if (code[0] == 'V') return unsupported("raw elements that nothing gives a type", descr);
  for (const TypeCode& known : kTypeCodes) {
    if (known.code != code) continue;
    if (order == '|' && !one_byte) return unsupported("arrays without a byte order", descr);
    return wanted && stand_in(*wanted) == known.dtype ? *wanted : known.dtype;
  }
  return unsupported("such elements", descr);
}

std::uint32_t little_endian(std::span<const std::byte> bytes) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

struct Layout {
  ScalarType dtype = ScalarType::Float;
  std::vector<std::int64_t> sizes{};
  std::vector<std::uint8_t> dim_order{};
  std::size_t data_offset = 0;
};

Result<Layout> read_layout(std::span<const std::byte> bytes, std::optional<ScalarType> wanted) {
  const auto malformed = [](std::string_view expected, std::string found, std::uint64_t offset) {
    return Error{ErrorCode::InvalidArgument, "not a readable .npy file"}
        .with_expected(std::string{expected}, std::move(found))
        .with_offset(offset);
  };
  if (bytes.size() < kMagic.size() + 4 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return malformed("the magic bytes \\x93NUMPY", bytes.empty() ? "an empty file" : "other bytes", 0);
  }
  const auto major = std::to_integer<unsigned>(bytes[6]);
  const auto minor = std::to_integer<unsigned>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return malformed("version 1.0, 2.0 or 3.0", fmt::format("{}.{}", major, minor), 6);
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_offset = 8 + length_bytes;
  if (bytes.size() < header_offset) return malformed("a header length", "the end of the file", 8);
  const std::uint64_t header_bytes = little_endian(bytes.subspan(8, length_bytes));
  if (!base::fits(header_offset, header_bytes, bytes.size())) {
    return malformed(fmt::format("a header of {} bytes", header_bytes),
                     fmt::format("{} bytes", bytes.size() - header_offset), 8);
  }
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()) + header_offset,
                              static_cast<std::size_t>(header_bytes)};
  TANDEM_TRY(Header header, HeaderParser(text, header_offset).parse());

  Layout layout;
  TANDEM_TRY(layout.dtype, dtype_of(header.descr, wanted));
  layout.sizes = std::move(header.shape);
  layout.data_offset = header_offset + static_cast<std::size_t>(header_bytes);
  const std::uint64_t present = bytes.size() - layout.data_offset;
  const auto needed = base::checked_bytes<std::int64_t>(layout.sizes, item_bytes(layout.dtype));
  if (!needed || *needed != present) {
    return malformed(fmt::format("{} bytes for shape {}", needed ? std::to_string(*needed) : "more than 2^63",
                                 shape_text(layout.sizes)),
                     fmt::format("{} bytes", present), layout.data_offset);
  }
  layout.dim_order.resize(layout.sizes.size());
  std::iota(layout.dim_order.begin(), layout.dim_order.end(), std::uint8_t{0});
  if (header.fortran_order) std::reverse(layout.dim_order.begin(), layout.dim_order.end());
  return layout;
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes, std::function<void()> release, const std::string& name,
                         std::optional<ScalarType> wanted) {
  Result<Tensor> tensor = [&]() -> Result<Tensor> {
    TANDEM_TRY(const Layout layout, read_layout(bytes, wanted));
    const std::span<const std::byte> data = bytes.subspan(layout.data_offset);
    if (reinterpret_cast<std::uintptr_t>(data.data()) % kAlignment != 0 || data.empty()) {
      TANDEM_TRY(Tensor copy, Tensor::empty(layout.dtype, layout.sizes, layout.dim_order));
      if (!data.empty()) std::memcpy(copy.data(), data.data(), data.size());
      return copy;
    }
    std::vector<std::int64_t> strides(layout.sizes.size());
    strides_from_dim_order(layout.sizes, layout.dim_order, strides);
    // Nothing writes through it: inputs and expected values are only read.
    auto* mapped = const_cast<std::byte*>(data.data());
    Result<Tensor> made = Tensor::from_blob(mapped, layout.dtype, layout.sizes, strides, release);
    if (made.ok()) release = nullptr;  // the tensor calls it
    return made;
  }();
  if (release) release();
  if (!tensor.ok()) return std::move(tensor).error().with_file(name);
  return tensor;
}

Result<Tensor> read_npy(const std::filesystem::path& file, std::optional<ScalarType> wanted) {
  TANDEM_TRY(base::MappedFile opened, base::MappedFile::open(file));
  auto mapped = std::make_shared<base::MappedFile>(std::move(opened));
  const std::span<const std::byte> bytes = mapped->bytes();
  return parse_npy(
      bytes, [mapped]() mutable { mapped.reset(); }, file.string(), wanted);
}

Status write_npy(const std::filesystem::path& file, const Tensor& tensor) {
  const ScalarType stored = stand_in(tensor.dtype()).value_or(tensor.dtype());
  const auto known = std::find_if(kTypeCodes.begin(), kTypeCodes.end(),
                                  [stored](const TypeCode& code) { return code.dtype == stored; });
  if (known == kTypeCodes.end()) {
    return Error{ErrorCode::NotSupported, fmt::format("NumPy has no {} elements", name_of(tensor.dtype()))}.with_file(
        file.string());
  }
  TANDEM_TRY(const Tensor rows, contiguous(tensor));
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", item_bytes(stored) == 1 ? '|' : '<',
                  known->code, fmt::join(rows.sizes(), ", "), rows.rank() == 1 ? "," : "");
  constexpr std::size_t kPrefixBytes = 10;
  const std::size_t total = base::align_up(kPrefixBytes + header.size() + 1, kAlignment);
  header.append(total - kPrefixBytes - header.size() - 1, ' ');
  header += '\n';
  std::string prefix{kMagic};
  prefix += {'\x01', '\x00', static_cast<char>(header.size() & 0xFFU), static_cast<char>(header.size() >> 8U)};

  std::unique_ptr<std::FILE, int (*)(std::FILE*)> out{std::fopen(file.c_str(), "wbe"), &std::fclose};
  if (!out) return base::errno_error("file cannot be written", errno).with_file(file.string());
  const auto put = [&out](const void* data, std::size_t size) {
    return size == 0 || std::fwrite(data, 1, size, out.get()) == size;
  };
  const bool written =
      put(prefix.data(), prefix.size()) && put(header.data(), header.size()) && put(rows.data(), rows.nbytes());
  // A full disk may show only when the buffer is flushed.
  if (!written || std::fclose(out.release()) != 0) {
    return base::errno_error("file cannot be written", errno).with_file(file.string());
  }
  return {};
}

}  // namespace tandem::cli
