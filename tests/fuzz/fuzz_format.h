#pragma once

#include "format/ptd/write.h"
#include "format/pte/write.h"
#include "support/file_bytes.h"
#include "support/promises.h"
#include "support/same_contents.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tandem::testing {

/// Empty if the error says what and where.
inline std::string spelt_out(const Error& error) {
  return error.message().empty() || error.to_string().empty() ? "an error without a message" : "";
}

inline std::uint64_t segment_bytes(const std::vector<format::Segment>& segments) {
  std::uint64_t sum = 0;
  for (const format::Segment& segment : segments) sum += segment.bytes;
  return sum;
}

/// The bytes of data in a new file, which shares none: a file of little size may name its bytes very often.
inline std::uint64_t data_bytes(const format::DataFile& data) { return segment_bytes(data.segments); }
inline std::uint64_t data_bytes(const format::Program& program) {
  std::uint64_t sum = segment_bytes(program.segments);
  for (const format::Bytes payload : program.inline_delegate_data) sum += payload.size();
  for (const format::Method& method : program.methods) {
    for (const format::Delegate& delegate : method.delegates) {
      sum += delegate.payload.size();
      for (const format::CompileSpec& spec : delegate.compile_specs) sum += spec.value.size();
    }
    for (const format::ValueSpec& value : method.values) {
      if (const auto* tensor = std::get_if<format::Tensor>(&value)) sum += tensor->data.size();
    }
  }
  return sum;
}

/// What was read can be written, and reads back the same. Empty if so.
template <class Parsed, class Read, class Write>
std::string written_again(const Parsed& parsed, format::Bytes file, Read read, Write write) {
  constexpr std::uint64_t kMostDataBytes = 1 << 20;
  if (data_bytes(parsed) > kMostDataBytes) return "";
  const auto written = write(parsed, {});
  if (!written.ok()) return "not written: " + written.error().to_string();
  const auto again = read(*written);
  if (!again.ok()) return "not read again: " + again.error().to_string();
  return difference(parsed, file, *again, *written);
}

/// Reads the input as a file and checks what comes of it: a result that keeps the reader's promises and can be written,
/// or an error that can be spelt out.
template <class Read, class Write>
void fuzz_reader(const std::uint8_t* data, std::size_t size, Read read, Write write) {
  const FileBytes file{std::as_bytes(std::span{data, size})};
  const auto result = read(file.bytes());
  std::string complaint = result.ok() ? broken_promise(*result, file.bytes()) : spelt_out(result.error());
  if (complaint.empty() && result.ok()) complaint = written_again(*result, file.bytes(), read, write);
  if (complaint.empty()) return;
  std::fprintf(stderr, "%s\n", complaint.c_str());
  std::abort();
}

}  // namespace tandem::testing
