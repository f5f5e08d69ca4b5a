#include "backends/aoti/elf_image.h"
#include "backends/aoti/library.h"
#include "library_files.h"
#include "support/fixture_folder.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>

namespace tandem::aoti {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

using Bytes = std::vector<std::byte>;

template <class T>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  EXPECT_LE(offset + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
template <class T>
void store(Bytes& bytes, std::size_t offset, T value) {
  ASSERT_LE(offset + sizeof value, bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

Bytes fixture_library(const char* folder) {
  const testing::FixtureFolder fixture{folder};
  const auto bytes = fixture.library(fixture.payloads("forward").front());
  return {bytes.begin(), bytes.end()};
}

/// File offset of the first program header of a type.
std::size_t program_header(std::span<const std::byte> bytes, std::uint32_t type) {
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (load<Elf64_Phdr>(bytes, at).p_type == type) return at;
  }
  ADD_FAILURE() << "no program header " << type;
  return header.e_phoff;
}

/// File offset of a dynamic entry's value.
std::size_t dynamic_value(std::span<const std::byte> bytes, std::int64_t tag) {
  const auto header = load<Elf64_Phdr>(bytes, program_header(bytes, PT_DYNAMIC));
  for (std::size_t at = header.p_offset; at < header.p_offset + header.p_filesz; at += sizeof(Elf64_Dyn)) {
    if (load<Elf64_Dyn>(bytes, at).d_tag == tag) return at + offsetof(Elf64_Dyn, d_un);
  }
  ADD_FAILURE() << "no dynamic entry " << tag;
  return header.p_offset;
}

/// Tables of the fixtures lie in the first segment, where addresses are file offsets.
std::size_t table(std::span<const std::byte> bytes, std::int64_t tag) {
  return load<std::uint64_t>(bytes, dynamic_value(bytes, tag));
}

/// The dynamic symbols by name.
std::map<std::string, Elf64_Sym> symbols(std::span<const std::byte> bytes) {
  std::map<std::string, Elf64_Sym> found;
  const std::size_t names = table(bytes, DT_STRTAB);
  for (std::size_t at = table(bytes, DT_SYMTAB) + sizeof(Elf64_Sym); at < names; at += sizeof(Elf64_Sym)) {
    const auto symbol = load<Elf64_Sym>(bytes, at);
    found[reinterpret_cast<const char*>(bytes.data() + names + symbol.st_name)] = symbol;
  }
  return found;
}

Error refusal(const Bytes& bytes) {
  auto image = ElfImage::parse(bytes);
  EXPECT_FALSE(image.ok());
  return image.ok() ? Error{ErrorCode::Internal, "accepted"} : image.error();
}

TEST(ElfImage, NamesTheProcessorOfALibraryForAnotherOne) {
  Bytes bytes = fixture_library("add");
  store<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine), EM_AARCH64);
  const Error error = refusal(bytes);
  EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
  EXPECT_EQ(error.expected(), "x86-64");
  EXPECT_EQ(error.found(), "aarch64");
  EXPECT_EQ(error.site().field, "e_machine");
}

TEST(ElfImage, RefusesAnotherWordSizeAndByteOrder) {
  for (const std::size_t field : {EI_CLASS, EI_DATA}) {
    Bytes bytes = fixture_library("add");
    store<std::uint8_t>(bytes, field, field == EI_CLASS ? ELFCLASS32 : ELFDATA2MSB);
    const Error error = refusal(bytes);
    EXPECT_EQ(error.code(), ErrorCode::IncompatibleDelegate);
    EXPECT_EQ(error.site().offset, field);
  }
}

TEST(ElfImage, RefusesWhatIsNoSharedLibrary) {
  EXPECT_EQ(refusal({}).code(), ErrorCode::InvalidProgram);
  EXPECT_EQ(refusal(Bytes(200)).site().field, "e_ident");
  Bytes bytes = fixture_library("add");
  store<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_type), ET_EXEC);
  EXPECT_EQ(refusal(bytes).site().field, "e_type");
}

TEST(ElfImage, RefusesEveryLibraryThatIsCutOff) {
  const Bytes bytes = fixture_library("add");
  const auto whole = ElfImage::parse(bytes);
  ASSERT_TRUE(whole.ok());
  for (std::size_t size = 0; size < whole->loaded_bytes().size(); size += 997) {
    const Error error = refusal({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_EQ(error.code(), ErrorCode::InvalidProgram) << size;
    EXPECT_FALSE(error.site().field.empty()) << size;
    EXPECT_TRUE(error.site().offset.has_value()) << size;
  }
}

struct Damage {
  const char* field;
  std::function<void(Bytes&)> apply;
};

TEST(ElfImage, NamesTheFieldThatIsDamaged) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  const auto entry = [](std::int64_t tag, std::uint64_t value) {
    return [tag, value](Bytes& b) { store(b, dynamic_value(b, tag), value); };
  };
  const Damage damages[] = {
      {"e_phoff", [](Bytes& b) { store(b, offsetof(Elf64_Ehdr, e_phoff), kFar); }},
      {"e_phentsize", [](Bytes& b) { store<std::uint16_t>(b, offsetof(Elf64_Ehdr, e_phentsize), 8); }},
      {"p_offset", [](Bytes& b) { store(b, program_header(b, PT_LOAD) + offsetof(Elf64_Phdr, p_offset), UINT64_MAX); }},
      {"p_memsz", [](Bytes& b) { store(b, program_header(b, PT_LOAD) + offsetof(Elf64_Phdr, p_memsz), UINT64_MAX); }},
      {"PT_DYNAMIC", [](Bytes& b) { store(b, program_header(b, PT_DYNAMIC) + offsetof(Elf64_Phdr, p_vaddr), kFar); }},
      {"PT_DYNAMIC",
       [](Bytes& b) { store<std::uint64_t>(b, program_header(b, PT_DYNAMIC) + offsetof(Elf64_Phdr, p_filesz), 32); }},
      {"DT_STRSZ", entry(DT_STRSZ, 0)},
      {"DT_STRTAB", entry(DT_STRTAB, kFar)},
      {"DT_STRTAB", entry(DT_STRSZ, kFar)},
      {"DT_STRTAB",
       [](Bytes& b) { store(b, table(b, DT_STRTAB) + load<std::uint64_t>(b, dynamic_value(b, DT_STRSZ)) - 1, 'x'); }},
      {"DT_NEEDED", entry(DT_NEEDED, kFar)},
      {"DT_SYMTAB", entry(DT_SYMTAB, kFar)},
      {"DT_SYMENT", entry(DT_SYMENT, 8)},
      {"symbol[3].st_name",
       [](Bytes& b) { store(b, table(b, DT_SYMTAB) + 3 * sizeof(Elf64_Sym), std::uint32_t{0xFFFFFF}); }},
      {"DT_GNU_HASH", entry(DT_GNU_HASH, kFar)},
      {"DT_GNU_HASH", [](Bytes& b) { store(b, table(b, DT_GNU_HASH), std::uint32_t{0}); }},
      {"DT_GNU_HASH", [](Bytes& b) { store(b, table(b, DT_GNU_HASH) + 8, std::uint32_t{0x7FFFFFFF}); }},
      {"DT_RELA", entry(DT_RELASZ, kFar)},
      {"DT_RELA[0].r_offset", [](Bytes& b) { store(b, table(b, DT_RELA), kFar); }},
      {"DT_SYMTAB", [](Bytes& b) { store(b, table(b, DT_JMPREL) + 8, std::uint64_t{0xFFFFFFFF00000007}); }},
      {"DT_VERSYM", entry(DT_VERSYM, kFar)},
      {"DT_VERNEED[0]", entry(DT_VERNEED, kFar)},
      {"DT_VERNEED[0].vn_next", [](Bytes& b) { store(b, table(b, DT_VERNEED) + 12, std::uint32_t{1}); }},
      {"DT_VERNEED[0].vn_aux", [](Bytes& b) { store(b, table(b, DT_VERNEED) + 8, std::uint32_t{0x7FFFFFFF}); }},
  };
  for (const Damage& damage : damages) {
    Bytes bytes = fixture_library("add");
    damage.apply(bytes);
    const Error error = refusal(bytes);
    EXPECT_EQ(error.code(), ErrorCode::InvalidProgram) << damage.field;
    EXPECT_THAT(error.site().field, HasSubstr(damage.field)) << error.to_string();
    EXPECT_TRUE(error.site().offset.has_value()) << damage.field;
  }
}

TEST(ElfImage, SuppliedImportsBecomeAbsoluteAndHidden) {
  auto image = ElfImage::parse(fixture_library("add"));
  ASSERT_TRUE(image.ok());
  EXPECT_THAT(image->missing_imports(), Contains("aoti_torch_empty_strided"));
  image->supply([](std::string_view name) { return name == "aoti_torch_empty_strided" ? std::uintptr_t{0x1234} : 0; });
  EXPECT_EQ(image->edits().supplied, 1U);
  EXPECT_THAT(image->missing_imports(), Not(Contains("aoti_torch_empty_strided")));
  const Elf64_Sym symbol = symbols(image->bytes()).at("aoti_torch_empty_strided");
  EXPECT_EQ(symbol.st_shndx, SHN_ABS);
  EXPECT_EQ(symbol.st_value, 0x1234U);
  EXPECT_EQ(ELF64_ST_VISIBILITY(symbol.st_other), STV_HIDDEN);
}

TEST(ElfImage, OnlyEntryPointsStayVisible) {
  auto image = ElfImage::parse(fixture_library("mlp_stock"));
  ASSERT_TRUE(image.ok());
  image->isolate();
  EXPECT_GT(image->edits().hidden, 0U);
  std::size_t entries = 0;
  for (const auto& [name, symbol] : symbols(image->bytes())) {
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const bool entry = name.starts_with("AOTInductor");
    entries += entry ? 1 : 0;
    EXPECT_EQ(ELF64_ST_VISIBILITY(symbol.st_other), entry ? STV_DEFAULT : STV_HIDDEN) << name;
  }
  EXPECT_EQ(entries, 44U);
}

TEST(ElfImage, UniqueSymbolsBecomeWeak) {
  auto image = ElfImage::parse(fixture_library("mlp_stock"));
  ASSERT_TRUE(image.ok());
  image->isolate();
  EXPECT_EQ(image->edits().unique, 26U);
  for (const auto& [name, symbol] : symbols(image->bytes())) {
    EXPECT_NE(ELF64_ST_BIND(symbol.st_info), STB_GNU_UNIQUE) << name;
  }
}

TEST(ElfImage, NeverAsksForAnExecutableStack) {
  Bytes bytes = fixture_library("add");
  const std::size_t stack = program_header(bytes, PT_GNU_STACK);
  ASSERT_NE(load<Elf64_Phdr>(bytes, stack).p_flags & PF_X, 0U);
  auto asked = ElfImage::parse(bytes);
  ASSERT_TRUE(asked.ok());
  asked->isolate();
  EXPECT_EQ(load<Elf64_Phdr>(asked->bytes(), stack).p_flags, std::uint32_t{PF_R | PF_W});

  store<std::uint32_t>(bytes, stack, PT_NULL);  // saying nothing means an executable one, too
  auto silent = ElfImage::parse(bytes);
  ASSERT_TRUE(silent.ok());
  silent->isolate();
  EXPECT_EQ(load<Elf64_Phdr>(silent->bytes(), program_header(silent->bytes(), PT_GNU_STACK)).p_flags,
            std::uint32_t{PF_R | PF_W});
}

TEST(ElfImage, ClearsTheFlagThatForbidsUnloading) {
  const Bytes bytes = library_bytes("nodelete");
  ASSERT_NE(load<std::uint64_t>(bytes, dynamic_value(bytes, DT_FLAGS_1)) & DF_1_NODELETE, 0U);
  auto image = ElfImage::parse(bytes);
  ASSERT_TRUE(image.ok());
  image->isolate();
  EXPECT_EQ(load<std::uint64_t>(image->bytes(), dynamic_value(image->bytes(), DT_FLAGS_1)) & DF_1_NODELETE, 0U);
}

TEST(ElfImage, NeededVersionsBecomeOptional) {
  auto image = ElfImage::parse(fixture_library("add"));
  ASSERT_TRUE(image.ok());
  image->weaken_versions();
  const auto bytes = image->bytes();
  std::size_t need = table(bytes, DT_VERNEED);
  std::size_t versions = 0;
  for (;;) {
    const auto library = load<Elf64_Verneed>(bytes, need);
    std::size_t at = need + library.vn_aux;
    for (int i = 0; i < library.vn_cnt; ++i, ++versions) {
      const auto version = load<Elf64_Vernaux>(bytes, at);
      EXPECT_NE(version.vna_flags & VER_FLG_WEAK, 0);
      at += version.vna_next;
    }
    if (library.vn_next == 0) break;
    need += library.vn_next;
  }
  EXPECT_GT(versions, 0U);
}

TEST(ElfImage, NeededLibraryCanBeDropped) {
  auto image = ElfImage::parse(fixture_library("add"));
  ASSERT_TRUE(image.ok());
  const std::string gone{image->needed().front()};
  ASSERT_GT(image->needed().size(), 1U);
  EXPECT_TRUE(image->drop_needed(gone));
  EXPECT_FALSE(image->drop_needed(gone));
  const auto edited = ElfImage::parse(image->bytes());
  ASSERT_TRUE(edited.ok());
  EXPECT_THAT(edited->needed(), Not(Contains(gone)));
}

/// Writes over the first instructions of the library.
Bytes library_with(std::initializer_list<unsigned char> code) {
  Bytes bytes = fixture_library("add");
  const auto header = load<Elf64_Ehdr>(bytes, 0);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = load<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    std::size_t at = segment.p_offset + segment.p_filesz - code.size();
    for (const unsigned char byte : code) store(bytes, at++, byte);
  }
  return bytes;
}

TEST(ElfImage, RecognisesMovesOfAvx512) {
  EXPECT_FALSE(ElfImage::parse(fixture_library("add"))->uses_avx512());
  EXPECT_TRUE(ElfImage::parse(library_with({0x62, 0xF1, 0xFE, 0x48, 0x6F}))->uses_avx512());   // vmovdqu64 zmm
  EXPECT_TRUE(ElfImage::parse(library_with({0x62, 0xF1, 0x7C, 0x28, 0x11}))->uses_avx512());   // vmovups ymm
  EXPECT_FALSE(ElfImage::parse(library_with({0x62, 0xF1, 0x7C, 0x28, 0x12}))->uses_avx512());  // something else
}

TEST(ElfImage, LibraryWithAvx512IsRefusedWhereTheProcessorLacksIt) {
  const auto image = ElfImage::parse(library_with({0x62, 0xF1, 0xFE, 0x48, 0x6F}));
  ASSERT_TRUE(image.ok());
  EXPECT_TRUE(check_processor(*image, true).ok());
  const Status status = check_processor(*image, false);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::IncompatibleDelegate);
  EXPECT_THAT(status.error().message(), HasSubstr("compiled for a processor with AVX-512"));
}

}  // namespace
}  // namespace tandem::aoti
