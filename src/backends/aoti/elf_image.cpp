#include "backends/aoti/elf_image.h"

#include "base/checked.h"

#include <elf.h>
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace tandem::aoti {
namespace {

constexpr std::string_view kFreeresName = "_ZN9__gnu_cxx9__freeresEv";
constexpr std::string_view kEntryPrefix = "AOTInductor";

/// Precondition: [offset, offset + sizeof(T)) lies within `bytes`.
template <class T>
T load(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
template <class T>
void store(std::span<std::byte> bytes, std::size_t offset, const T& value) noexcept {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

Error malformed(std::string message, std::string field, std::uint64_t offset) {
  return Error{ErrorCode::InvalidProgram, "library: " + std::move(message)}
      .with_field(std::move(field))
      .with_offset(offset);
}

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_386:
      return "x86";
    case EM_ARM:
      return "arm";
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390";
    default:
      return "machine " + std::to_string(machine);
  }
}

Status check_identity(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) {
    return malformed("shorter than an ELF header", "e_ident", 0)
        .with_expected(std::to_string(sizeof(Elf64_Ehdr)) + " bytes", std::to_string(bytes.size()));
  }
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return malformed("not an ELF file", "e_ident", 0);
  const auto other = [](std::string expected, std::string found, const char* field, std::uint64_t offset) {
    return Error{ErrorCode::IncompatibleDelegate, "the library is for another processor"}
        .with_expected(std::move(expected), std::move(found))
        .with_field(field)
        .with_offset(offset);
  };
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return other("little-endian", "byte order " + std::to_string(header.e_ident[EI_DATA]), "e_ident[EI_DATA]", EI_DATA);
  }
  if (header.e_machine != EM_X86_64) {
    return other(machine_name(EM_X86_64), machine_name(header.e_machine), "e_machine", offsetof(Elf64_Ehdr, e_machine));
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    return other("64-bit", "class " + std::to_string(header.e_ident[EI_CLASS]), "e_ident[EI_CLASS]", EI_CLASS);
  }
  if (header.e_type != ET_DYN) {
    return malformed("not a shared library", "e_type", offsetof(Elf64_Ehdr, e_type))
        .with_expected(std::to_string(ET_DYN), std::to_string(header.e_type));
  }
  return {};
}

struct Segment {
  std::uint64_t address, file_offset, file_bytes;
};

}  // namespace

/// Fills an image step by step; each step relies on the ones before.
struct ElfImage::Parser {
  ElfImage& image;
  std::span<const std::byte> bytes;
  std::vector<Segment> segments{};
  std::size_t dynamic_offset = 0;
  std::size_t dynamic_count = 0;
  std::uint64_t dynamic_address = 0;
  std::uint64_t referenced_symbols = 0;  ///< One more than the largest index in a relocation.

  /// File offset of loaded bytes; nothing if [address, address + size) is not within one segment's file part.
  [[nodiscard]] std::optional<std::size_t> offset_of(std::uint64_t address, std::uint64_t size) const noexcept {
    for (const Segment& segment : segments) {
      if (address < segment.address) continue;
      if (base::fits(address - segment.address, size, segment.file_bytes)) {
        return static_cast<std::size_t>(segment.file_offset + (address - segment.address));
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Elf64_Dyn> find(std::int64_t tag) const noexcept {
    for (std::size_t i = 0; i < dynamic_count; ++i) {
      const auto entry = load<Elf64_Dyn>(bytes, dynamic_offset + i * sizeof(Elf64_Dyn));
      if (entry.d_tag == tag) return entry;
    }
    return std::nullopt;
  }

  /// Where a table that DT_`tag` names lies in the file.
  [[nodiscard]] Result<std::size_t> table(std::int64_t tag, const char* name, std::uint64_t size) const {
    const auto entry = find(tag);
    if (!entry) return malformed("dynamic entry is missing", name, dynamic_offset);
    const auto offset = offset_of(entry->d_un.d_ptr, size);
    if (!offset) {
      return malformed("table is not within a loaded segment", name, dynamic_offset)
          .with_expected(std::to_string(size) + " bytes", "address " + std::to_string(entry->d_un.d_ptr));
    }
    return *offset;
  }

  Status program_headers() {
    const auto header = load<Elf64_Ehdr>(bytes, 0);
    if (header.e_phentsize != sizeof(Elf64_Phdr)) {
      return malformed("unexpected size of a program header", "e_phentsize", offsetof(Elf64_Ehdr, e_phentsize))
          .with_expected(std::to_string(sizeof(Elf64_Phdr)), std::to_string(header.e_phentsize));
    }
    if (!base::fits(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), bytes.size())) {
      return malformed("program headers lie outside of the file", "e_phoff", offsetof(Elf64_Ehdr, e_phoff));
    }
    image.program_headers_ = header.e_phoff;
    image.program_header_count_ = header.e_phnum;
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
      const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
      TANDEM_CHECK_OK(program_header(load<Elf64_Phdr>(bytes, at), "program_header[" + std::to_string(i) + "]", at));
    }
    if (segments.empty()) return malformed("no loadable segment", "e_phnum", offsetof(Elf64_Ehdr, e_phnum));
    return dynamic_section();
  }

  /// The loader reads it where it is mapped, and up to DT_NULL.
  Status dynamic_section() {
    if (offset_of(dynamic_address, dynamic_count * sizeof(Elf64_Dyn)) != dynamic_offset) {
      return malformed("dynamic section is not within a loaded segment", "PT_DYNAMIC", dynamic_offset);
    }
    for (std::size_t i = 0; i < dynamic_count; ++i) {
      if (load<Elf64_Dyn>(bytes, dynamic_offset + i * sizeof(Elf64_Dyn)).d_tag != DT_NULL) continue;
      dynamic_count = i;
      return {};
    }
    return malformed("dynamic section does not end", "PT_DYNAMIC", dynamic_offset);
  }

  Status program_header(const Elf64_Phdr& header, const std::string& name, std::size_t at) {
    if (header.p_type != PT_LOAD && header.p_type != PT_DYNAMIC) return {};
    if (!base::fits(header.p_offset, header.p_filesz, bytes.size())) {
      return malformed("segment lies outside of the file", name + ".p_offset", at);
    }
    if (header.p_type == PT_DYNAMIC) {
      dynamic_offset = header.p_offset;
      dynamic_count = header.p_filesz / sizeof(Elf64_Dyn);
      dynamic_address = header.p_vaddr;
      return {};
    }
    const auto end = base::checked_add(header.p_vaddr, header.p_memsz);
    if (!end || *end > static_cast<std::uint64_t>(INT64_MAX) || header.p_filesz > header.p_memsz) {
      return malformed("segment has an impossible size", name + ".p_memsz", at);
    }
    // The loader maps segments one after another and takes their order for granted.
    if (!segments.empty() && header.p_vaddr < image.end_address_) {
      return malformed("segments overlap or are out of order", name + ".p_vaddr", at);
    }
    if (segments.empty()) image.first_address_ = header.p_vaddr;
    image.end_address_ = *end;
    image.loaded_end_ = std::max<std::size_t>(image.loaded_end_, header.p_offset + header.p_filesz);
    segments.push_back({header.p_vaddr, header.p_offset, header.p_filesz});
    if ((header.p_flags & PF_X) != 0) image.code_.push_back({header.p_offset, header.p_filesz});
    return {};
  }

  Status strings() {
    const auto size = find(DT_STRSZ);
    if (!size || size->d_un.d_val == 0) return malformed("no string table", "DT_STRSZ", dynamic_offset);
    image.string_bytes_ = size->d_un.d_val;
    TANDEM_TRY(image.strings_, table(DT_STRTAB, "DT_STRTAB", image.string_bytes_));
    if (bytes[image.strings_ + image.string_bytes_ - 1] != std::byte{0}) {
      return malformed("string table does not end with NUL", "DT_STRTAB", image.strings_ + image.string_bytes_ - 1);
    }
    return {};
  }

  Status needed() {
    for (std::size_t i = 0; i < dynamic_count; ++i) {
      const std::size_t at = dynamic_offset + i * sizeof(Elf64_Dyn);
      const auto entry = load<Elf64_Dyn>(bytes, at);
      if (entry.d_tag == DT_FLAGS_1) image.flags_1_ = at + offsetof(Elf64_Dyn, d_un);
      if (entry.d_tag != DT_NEEDED) continue;
      if (entry.d_un.d_val >= image.string_bytes_) {
        return malformed("name lies outside of the string table", "DT_NEEDED", at);
      }
      image.needed_.push_back({at, entry.d_un.d_val});
    }
    return {};
  }

  /// One relocation table of `size` bytes: its targets and symbols are what the loader writes and reads.
  Status relocations(std::int64_t tag, std::int64_t size_tag, const char* name) {
    const auto size = find(size_tag);
    if (!find(tag) || !size || size->d_un.d_val == 0) return {};
    TANDEM_TRY(const std::size_t first, table(tag, name, size->d_un.d_val));
    for (std::uint64_t i = 0; i < size->d_un.d_val / sizeof(Elf64_Rela); ++i) {
      const std::size_t at = first + i * sizeof(Elf64_Rela);
      const auto entry = load<Elf64_Rela>(bytes, at);
      if (entry.r_offset < image.first_address_ ||
          !base::fits(entry.r_offset, sizeof(std::uint64_t), image.end_address_)) {
        return malformed("relocation outside of the loaded segments",
                         std::string{name} + "[" + std::to_string(i) + "].r_offset", at);
      }
      referenced_symbols = std::max<std::uint64_t>(referenced_symbols, ELF64_R_SYM(entry.r_info) + 1);
    }
    return {};
  }

  Result<std::uint64_t> hashed_symbols() const {
    if (find(DT_HASH)) {
      TANDEM_TRY(const std::size_t at, table(DT_HASH, "DT_HASH", 2 * sizeof(std::uint32_t)));
      const std::uint64_t buckets = load<std::uint32_t>(bytes, at);
      const std::uint64_t chains = load<std::uint32_t>(bytes, at + sizeof(std::uint32_t));
      TANDEM_CHECK_OK(table_status(DT_HASH, "DT_HASH", (2 + buckets + chains) * sizeof(std::uint32_t)));
      return chains;
    }
    return gnu_hashed_symbols();
  }

  Status table_status(std::int64_t tag, const char* name, std::uint64_t size) const {
    const auto found = table(tag, name, size);
    return found.ok() ? Status{} : Status{found.error()};
  }

  /// The table has no count: the last chain tells.
  Result<std::uint64_t> gnu_hashed_symbols() const {
    constexpr std::uint64_t kWord = sizeof(std::uint32_t);
    TANDEM_TRY(const std::size_t at, table(DT_GNU_HASH, "DT_GNU_HASH", 4 * kWord));
    const std::uint64_t bucket_count = load<std::uint32_t>(bytes, at);
    const std::uint64_t first_hashed = load<std::uint32_t>(bytes, at + kWord);
    const std::uint64_t bloom_words = load<std::uint32_t>(bytes, at + 2 * kWord);
    const std::uint64_t buckets = 4 * kWord + bloom_words * sizeof(std::uint64_t);
    const std::uint64_t chains = buckets + bucket_count * kWord;
    TANDEM_CHECK_OK(table_status(DT_GNU_HASH, "DT_GNU_HASH", chains));
    if (bucket_count == 0 || bloom_words == 0) return malformed("hash table without buckets", "DT_GNU_HASH", at);
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < bucket_count; ++i) {
      last = std::max<std::uint64_t>(last, load<std::uint32_t>(bytes, at + buckets + i * kWord));
    }
    if (last < first_hashed) return first_hashed;
    for (;; ++last) {
      const std::uint64_t link = chains + (last - first_hashed) * kWord;
      TANDEM_CHECK_OK(table_status(DT_GNU_HASH, "DT_GNU_HASH", link + kWord));
      if ((load<std::uint32_t>(bytes, at + link) & 1U) != 0) return last + 1;
    }
  }

  Status symbols() {
    const auto entry_size = find(DT_SYMENT);
    if (entry_size && entry_size->d_un.d_val != sizeof(Elf64_Sym)) {
      return malformed("unexpected size of a symbol", "DT_SYMENT", dynamic_offset);
    }
    TANDEM_TRY(const std::uint64_t hashed, hashed_symbols());
    const std::uint64_t count = std::max(hashed, referenced_symbols);
    TANDEM_TRY(image.symbols_, table(DT_SYMTAB, "DT_SYMTAB", count * sizeof(Elf64_Sym)));
    image.symbol_count_ = count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = image.symbols_ + i * sizeof(Elf64_Sym);
      if (load<Elf64_Sym>(bytes, at).st_name >= image.string_bytes_) {
        return malformed("name lies outside of the string table", "symbol[" + std::to_string(i) + "].st_name", at);
      }
    }
    return {};
  }

  Status versions() const {
    if (find(DT_VERSYM)) {
      TANDEM_CHECK_OK(table_status(DT_VERSYM, "DT_VERSYM", image.symbol_count_ * sizeof(Elf64_Half)));
    }
    const auto count = find(DT_VERNEEDNUM);
    const auto first = find(DT_VERNEED);
    if (!first || !count) return {};
    std::uint64_t address = first->d_un.d_ptr;
    for (std::uint64_t i = 0; i < count->d_un.d_val; ++i) {
      const std::string field = "DT_VERNEED[" + std::to_string(i) + "]";
      const auto at = offset_of(address, sizeof(Elf64_Verneed));
      if (!at) return malformed("entry is not within a loaded segment", field, dynamic_offset);
      const auto need = load<Elf64_Verneed>(bytes, *at);
      if (need.vn_file >= image.string_bytes_) return malformed("name lies outside of the string table", field, *at);
      TANDEM_CHECK_OK(version_names(address + need.vn_aux, need.vn_cnt, field));
      if (need.vn_next == 0) break;
      if (need.vn_next < sizeof need) return malformed("entries overlap", field + ".vn_next", *at);
      address += need.vn_next;
    }
    return {};
  }

  Status version_names(std::uint64_t address, std::size_t count, const std::string& field) const {
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = offset_of(address, sizeof(Elf64_Vernaux));
      if (!at) return malformed("version is not within a loaded segment", field + ".vn_aux", dynamic_offset);
      const auto version = load<Elf64_Vernaux>(bytes, *at);
      if (version.vna_name >= image.string_bytes_) {
        return malformed("name lies outside of the string table", field + ".vna_name", *at);
      }
      image.versions_.push_back(*at + offsetof(Elf64_Vernaux, vna_flags));
      if (version.vna_next == 0) break;
      if (version.vna_next < sizeof version) return malformed("entries overlap", field + ".vna_next", *at);
      address += version.vna_next;
    }
    return {};
  }

  Status parse() {
    TANDEM_CHECK_OK(check_identity(bytes));
    TANDEM_CHECK_OK(program_headers());
    TANDEM_CHECK_OK(strings());
    TANDEM_CHECK_OK(needed());
    TANDEM_CHECK_OK(relocations(DT_RELA, DT_RELASZ, "DT_RELA"));
    TANDEM_CHECK_OK(relocations(DT_JMPREL, DT_PLTRELSZ, "DT_JMPREL"));
    TANDEM_CHECK_OK(symbols());
    return versions();
  }
};

Result<ElfImage> ElfImage::parse(std::span<const std::byte> file) {
  ElfImage image;
  image.bytes_.assign(file.begin(), file.end());
  Parser parser{image, image.bytes_};
  TANDEM_CHECK_OK(parser.parse());
  return image;
}

/// Where tables overlap, an edit may have changed what parse() saw, so the bounds are looked at again.
std::string_view ElfImage::string_at(std::uint64_t offset) const {
  if (offset >= string_bytes_) return {};
  const auto* text = reinterpret_cast<const char*>(bytes_.data() + strings_ + offset);
  return {text, ::strnlen(text, string_bytes_ - offset)};
}

std::string_view ElfImage::symbol_name(std::size_t symbol) const {
  return string_at(load<Elf64_Sym>(bytes_, symbols_ + symbol * sizeof(Elf64_Sym)).st_name);
}

bool ElfImage::is_import(std::size_t symbol) const {
  const auto entry = load<Elf64_Sym>(bytes_, symbols_ + symbol * sizeof(Elf64_Sym));
  return entry.st_shndx == SHN_UNDEF && ELF64_ST_BIND(entry.st_info) != STB_LOCAL;
}

std::vector<std::string_view> ElfImage::missing_imports() const {
  std::vector<std::string_view> names;
  for (std::size_t i = 1; i < symbol_count_; ++i) {
    const auto entry = load<Elf64_Sym>(bytes_, symbols_ + i * sizeof(Elf64_Sym));
    if (is_import(i) && ELF64_ST_BIND(entry.st_info) != STB_WEAK) names.push_back(symbol_name(i));
  }
  return names;
}

std::vector<std::string_view> ElfImage::needed() const {
  std::vector<std::string_view> names;
  for (const Needed& library : needed_) names.push_back(string_at(library.name));
  return names;
}

bool ElfImage::drop_needed(std::string_view library) {
  const auto gone = std::ranges::find(needed_, library, [this](const Needed& each) { return string_at(each.name); });
  const auto other = std::ranges::find_if(needed_, [&](const Needed& each) { return string_at(each.name) != library; });
  if (gone == needed_.end() || other == needed_.end()) return false;
  // There is no entry for "nothing"; naming another library twice is harmless.
  store(std::span{bytes_}, gone->entry + offsetof(Elf64_Dyn, d_un), other->name);
  needed_.erase(gone);
  return true;
}

void ElfImage::weaken_versions() {
  for (const std::size_t at : versions_) {
    const auto flags = load<Elf64_Half>(bytes_, at);
    store(std::span{bytes_}, at, static_cast<Elf64_Half>(flags | VER_FLG_WEAK));
  }
}

bool ElfImage::uses_avx512() const {
  constexpr auto kLast = std::size_t{5};
  for (const Extent& code : code_) {
    const auto* at = reinterpret_cast<const unsigned char*>(bytes_.data() + code.offset);
    const auto* end = at + code.bytes;
    while (static_cast<std::size_t>(end - at) >= kLast) {
      at = static_cast<const unsigned char*>(std::memchr(at, 0x62, static_cast<std::size_t>(end - at) - (kLast - 1)));
      if (at == nullptr) break;
      // Map 0F without extended registers, vvvv unused, no mask: vmovups/vmovdqu of 128, 256 or 512 bits.
      const bool moves = at[4] == 0x10 || at[4] == 0x11 || at[4] == 0x6F || at[4] == 0x7F;
      const bool plain = at[3] == 0x08 || at[3] == 0x28 || at[3] == 0x48;
      if (at[1] == 0xF1 && (at[2] & 0x7CU) == 0x7CU && plain && moves) return true;
      ++at;
    }
  }
  return false;
}

void ElfImage::bind(std::size_t symbol, std::uintptr_t address) {
  const std::size_t at = symbols_ + symbol * sizeof(Elf64_Sym);
  auto entry = load<Elf64_Sym>(bytes_, at);
  entry.st_shndx = SHN_ABS;
  entry.st_value = address;
  entry.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  entry.st_other = static_cast<unsigned char>((entry.st_other & ~3U) | STV_HIDDEN);
  store(std::span{bytes_}, at, entry);
  ++edits_.supplied;
}

void ElfImage::isolate() {
  for (std::size_t i = 1; i < symbol_count_; ++i) {
    const std::size_t at = symbols_ + i * sizeof(Elf64_Sym);
    auto entry = load<Elf64_Sym>(bytes_, at);
    const unsigned binding = ELF64_ST_BIND(entry.st_info);
    if (binding == STB_LOCAL) continue;
    if (binding == STB_GNU_UNIQUE) {
      entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(entry.st_info)));
      ++edits_.unique;
    }
    const std::string_view name = symbol_name(i);
    const bool visible = (entry.st_other & 3U) == STV_DEFAULT || (entry.st_other & 3U) == STV_PROTECTED;
    if (entry.st_shndx != SHN_UNDEF && visible && !name.starts_with(kEntryPrefix) && name != kFreeresName) {
      entry.st_other = static_cast<unsigned char>((entry.st_other & ~3U) | STV_HIDDEN);
      ++edits_.hidden;
    }
    store(std::span{bytes_}, at, entry);
  }
  if (flags_1_ != 0) {
    store(std::span{bytes_}, flags_1_, load<std::uint64_t>(bytes_, flags_1_) & ~std::uint64_t{DF_1_NODELETE});
  }
  clear_executable_stack();
}

void ElfImage::clear_executable_stack() {
  std::optional<std::size_t> spare;
  for (std::size_t i = 0; i < program_header_count_; ++i) {
    const std::size_t at = program_headers_ + i * sizeof(Elf64_Phdr);
    auto header = load<Elf64_Phdr>(bytes_, at);
    if (header.p_type == PT_NOTE || header.p_type == PT_NULL) spare = at;
    if (header.p_type != PT_GNU_STACK) continue;
    header.p_flags &= ~std::uint32_t{PF_X};
    store(std::span{bytes_}, at, header);
    return;
  }
  // A file that says nothing about its stack gets an executable one as well. A note is of no use to the loader.
  if (!spare) return;
  Elf64_Phdr header{};
  header.p_type = PT_GNU_STACK;
  header.p_flags = PF_R | PF_W;
  header.p_align = 16;
  store(std::span{bytes_}, *spare, header);
}

}  // namespace tandem::aoti
