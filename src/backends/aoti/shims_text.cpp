#include "backends/aoti/call_state.h"
#include "backends/aoti/shim_table.h"

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <streambuf>
#include <string_view>

namespace tandem::aoti {
namespace {

/// Unbuffered, so that the text is there when the call returns.
class TextBuffer final : public std::streambuf {
 protected:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    const char byte = traits_type::to_char_type(character);
    note_text({&byte, 1});
    return character;
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    note_text({text, static_cast<std::size_t>(count)});
    return count;
  }
};

/// Stands for `std::cerr` in libraries that use the process's libstdc++.
std::ostream& text_stream() {
  static auto* stream = new std::ostream{new TextBuffer};  // never destroyed: libraries may print while they close
  return *stream;
}

ssize_t write_text(void* /*cookie*/, const char* text, std::size_t count) {
  note_text({text, count});
  return static_cast<ssize_t>(count);
}

/// Stands for `stderr`, which libraries with a libstdc++ of their own also write `std::cerr` to. The process's own if
/// none can be made.
std::FILE*& text_file() {
  static std::FILE* file = [] {
    std::FILE* made =
        fopencookie(nullptr, "w", {.read = nullptr, .write = write_text, .seek = nullptr, .close = nullptr});
    if (made == nullptr) return stderr;
    std::setvbuf(made, nullptr, _IONBF, 0);
    return made;
  }();
  return file;
}

}  // namespace

void add_text_shims(std::vector<Shim>& shims) {
  const auto stream = reinterpret_cast<std::uintptr_t>(&text_stream());
  shims.insert(shims.end(), {
                                {"stderr", reinterpret_cast<std::uintptr_t>(&text_file())},
                                {"_ZSt4cerr", stream},
                                {"_ZSt4clog", stream},
                            });
}

}  // namespace tandem::aoti
