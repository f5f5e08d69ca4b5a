#include "facade/program_draft.h"

#include "base/checked.h"
#include "format/ptd/write.h"
#include "format/pte/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tandem::facade {
namespace {

// What ExecuTorch's memory planning aligns to, and enough for every operator.
constexpr std::uint64_t kArenaAlignment = 16;

// Files start at aligned addresses because every allocation of their size does.
static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);

std::string_view text_of(format::Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Segments with one blob each; equal blobs share one.
class BlobSegments {
 public:
  std::uint32_t add(std::vector<format::Segment>& segments, format::Bytes bytes, std::uint64_t alignment) {
    const auto [at, added] = known_.try_emplace(text_of(bytes), static_cast<std::uint32_t>(segments.size()));
    if (added) segments.push_back({0, bytes.size()});
    std::uint64_t& known_alignment = alignments_[at->second];
    known_alignment = std::max(known_alignment, alignment);
    return at->second;
  }
  /// One per segment.
  [[nodiscard]] std::vector<std::uint64_t> alignments(std::size_t segments) const {
    std::vector<std::uint64_t> out(segments, 1);
    for (const auto& [segment, alignment] : alignments_) out[segment] = alignment;
    return out;
  }

 private:
  std::map<std::string_view, std::uint32_t> known_{};
  std::map<std::uint32_t, std::uint64_t> alignments_{};
};

/// Offsets of many blobs in one segment, behind the placeholder; equal blobs share one.
class PackedSegment {
 public:
  explicit PackedSegment(std::uint64_t alignment) noexcept : alignment_{alignment} {}

  std::uint32_t add(format::Bytes bytes) {
    const auto [at, added] = known_.try_emplace(text_of(bytes), static_cast<std::uint32_t>(offsets_.size()));
    if (added) {
      const std::uint64_t offset = base::align_up(bytes_, alignment_);
      offsets_.push_back(offset);
      bytes_ = offset + bytes.size();
    }
    return at->second;
  }
  [[nodiscard]] bool has_blobs() const noexcept { return offsets_.size() > 1; }
  format::SubsegmentOffsets place(std::vector<format::Segment>& segments) const {
    segments.push_back({0, bytes_});
    return {static_cast<std::uint32_t>(segments.size() - 1), offsets_};
  }

 private:
  std::uint64_t alignment_;
  std::map<std::string_view, std::uint32_t> known_{};
  std::vector<std::uint64_t> offsets_{0};
  std::uint64_t bytes_ = 0;
};

/// Gives states without a place one in arena 1, and every arena the bytes that its tensors need.
void plan_arenas(const MethodDraft& draft, format::Method& method) {
  const auto grow = [&](const format::Tensor& tensor) {
    std::uint64_t& bytes = method.arenas[tensor.allocation->memory_id].bytes;
    bytes = std::max(bytes, tensor.allocation->offset + tensor.bytes);
  };
  for (const format::ValueSpec& value : method.values) {
    const auto* tensor = std::get_if<format::Tensor>(&value);
    if (tensor != nullptr && tensor->allocation) grow(*tensor);
  }
  for (const std::size_t value : draft.unplaced_states) {
    auto& tensor = std::get<format::Tensor>(method.values[value]);
    tensor.allocation = {1, base::align_up(method.arenas[1].bytes, kArenaAlignment)};
    grow(tensor);
  }
}

Status resolve_labels(const MethodDraft& draft, format::Method& method) {
  for (std::size_t c = 0; c < method.chains.size(); ++c) {
    std::vector<format::Instruction>& instructions = method.chains[c].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      auto* jump = std::get_if<format::JumpFalseCall>(&instructions[i]);
      if (jump == nullptr) continue;
      const LabelDraft& label = draft.labels[jump->destination];
      if (!label.instruction || label.chain != c) {
        return Error{ErrorCode::InvalidArgument,
                     label.instruction ? "a jump to a label in another chain" : "a jump to a label that was not placed"}
            .with_method(std::string{method.name})
            .with_field("jump_if_false")
            .with_instruction(static_cast<int>(c), static_cast<int>(i));
      }
      jump->destination = *label.instruction;
    }
  }
  return {};
}

Status check_options(const ProgramBuilderOptions& options) {
  for (const auto& [name, alignment] : {std::pair{"segment_alignment", options.segment_alignment},
                                        std::pair{"constant_tensor_alignment", options.constant_tensor_alignment},
                                        std::pair{"delegate_alignment", options.delegate_alignment}}) {
    if (!format::is_alignment(alignment)) return not_an_alignment(alignment).with_field(name);
  }
  return {};
}

/// In the order that ExecuTorch's exporter uses: constants, initial values, payloads, named data.
class Assembler {
 public:
  explicit Assembler(const ProgramDraft& draft) noexcept : draft_{draft} {}

  Result<std::vector<std::byte>> pte() {
    for (const MethodDraft* draft : draft_.methods) {
      format::Method& method = out_.methods.emplace_back(draft->method);
      TANDEM_CHECK_OK(resolve_labels(*draft, method));
      plan_arenas(*draft, method);
    }
    place_tensors();
    place_payloads();
    for (const DataDraft& data : draft_.named_data) {
      out_.named_data.push_back({data.key, blobs_.add(out_.segments, data.bytes, data.alignment), data.bytes});
    }
    return format::write_pte(out_, {draft_.options.segment_alignment, blobs_.alignments(out_.segments.size())});
  }

  Result<std::vector<std::byte>> ptd() {
    if (draft_.external_data.empty()) return std::vector<std::byte>{};
    TANDEM_TRY(const auto layouts, external_layouts());
    format::DataFile file;
    BlobSegments blobs;
    for (const DataDraft& data : draft_.external_data) {
      format::DataEntry entry{data.key, blobs.add(file.segments, data.bytes, data.alignment), data.bytes, {}};
      if (const auto at = layouts.find(data.key); at != layouts.end()) entry.layout = at->second;
      file.entries.push_back(std::move(entry));
    }
    return format::write_ptd(file, {draft_.options.segment_alignment, blobs.alignments(file.segments.size())});
  }

 private:
  template <class Use>
  void for_each_tensor(Use use) {
    for (format::Method& method : out_.methods) {
      for (format::ValueSpec& value : method.values) {
        if (auto* tensor = std::get_if<format::Tensor>(&value)) use(*tensor);
      }
    }
  }

  void place_tensors() {
    PackedSegment constants{draft_.options.constant_tensor_alignment};
    PackedSegment initials{1};  // copied when a method is loaded
    for_each_tensor([&](format::Tensor& tensor) {
      if (tensor.source == format::DataSource::Constant) tensor.data_buffer_idx = constants.add(tensor.data);
      if (tensor.source == format::DataSource::Initial) tensor.data_buffer_idx = initials.add(tensor.data);
    });
    out_.constant_segment = constants.place(out_.segments);
    if (initials.has_blobs()) out_.mutable_segments.push_back(initials.place(out_.segments));
  }

  void place_payloads() {
    for (format::Method& method : out_.methods) {
      for (format::Delegate& delegate : method.delegates) {
        if (delegate.inline_payload) {
          delegate.payload_index = static_cast<std::uint32_t>(out_.inline_delegate_data.size());
          out_.inline_delegate_data.push_back(delegate.payload);
        } else {
          delegate.payload_index = blobs_.add(out_.segments, delegate.payload, draft_.options.delegate_alignment);
        }
      }
    }
  }

  Result<std::map<std::string_view, format::TensorLayout>> external_layouts() {
    std::map<std::string_view, format::TensorLayout> out;
    std::optional<std::string_view> clash;
    for_each_tensor([&](const format::Tensor& tensor) {
      if (tensor.source != format::DataSource::External) return;
      format::TensorLayout layout{tensor.dtype, tensor.sizes, tensor.dim_order, tensor.bytes};
      const auto [at, added] = out.try_emplace(tensor.name, std::move(layout));
      const format::TensorLayout& known = at->second;
      if (known.dtype != tensor.dtype || known.sizes != tensor.sizes || known.dim_order != tensor.dim_order) {
        clash = tensor.name;
      }
    });
    if (!clash) return out;
    return Error{ErrorCode::InvalidArgument, "two external tensors of one name have different layouts"}.with_key(
        std::string{*clash});
  }

  const ProgramDraft& draft_;
  format::Program out_{};
  BlobSegments blobs_{};
};

}  // namespace

Error not_an_alignment(std::uint64_t bytes) {
  return Error{ErrorCode::InvalidArgument, "no alignment"}.with_expected(
      fmt::format("a power of two up to {}", format::kMaxAlignment), fmt::to_string(bytes));
}

Result<BuiltProgram> assemble(const ProgramDraft& draft) {
  if (draft.error) return *draft.error;
  TANDEM_CHECK_OK(check_options(draft.options));
  Assembler assembler{draft};
  BuiltProgram out;
  TANDEM_TRY(out.pte, assembler.pte());
  TANDEM_TRY(out.ptd, assembler.ptd());
  return out;
}

}  // namespace tandem::facade
