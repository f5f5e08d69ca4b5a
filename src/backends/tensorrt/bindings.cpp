#include "backends/tensorrt/bindings.h"

#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace tandem::tensorrt {
namespace {

Error invalid(std::string message, std::string_view tensor) {
  return Error{ErrorCode::InvalidProgram, std::move(message)}.with_field(std::string{tensor});
}

std::string names_of(std::span<const EngineTensor> tensors, bool is_input) {
  std::string names;
  for (const EngineTensor& tensor : tensors) {
    if (tensor.is_input == is_input) names += (names.empty() ? "" : ", ") + tensor.name;
  }
  return names.empty() ? "none" : names;
}

const char* kind_of(bool is_input) { return is_input ? "input" : "output"; }

/// The number behind the last dot or underscore.
std::optional<std::size_t> number_of(std::string_view name) {
  const std::size_t mark = name.find_last_of("._");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(mark + 1);
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  std::size_t number = 0;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, number).ec != std::errc{}) return std::nullopt;
  return number;
}

/// The tensors of one direction by the numbers in their names.
Result<std::vector<std::size_t>> by_number(std::span<const EngineTensor> tensors, bool is_input) {
  const auto count = static_cast<std::size_t>(std::ranges::count(tensors, is_input, &EngineTensor::is_input));
  std::vector<std::optional<std::size_t>> found(count);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].is_input != is_input) continue;
    const auto number = number_of(tensors[t].name);
    if (!number)
      return invalid("the blob names no tensors, and this name of the engine's has no number", tensors[t].name);
    if (*number >= count) {
      return invalid("the numbers in the engine's names have a gap", tensors[t].name)
          .with_expected(std::string{kind_of(is_input)} + "s 0 to " + std::to_string(count - 1),
                         std::to_string(*number));
    }
    if (found[*number]) {
      return invalid("two of the engine's names have one number", tensors[t].name)
          .with_expected("numbers that differ", tensors[*found[*number]].name);
    }
    found[*number] = t;
  }
  std::vector<std::size_t> ordered;
  ordered.reserve(count);
  for (const auto& tensor : found) ordered.push_back(*tensor);
  return ordered;
}

/// The tensors of one direction in the order of the blob's names, all of them.
Result<std::vector<std::size_t>> by_name(std::span<const EngineTensor> tensors, std::span<const std::string> names,
                                         bool is_input) {
  std::vector<std::size_t> ordered;
  for (const std::string& name : names) {
    const auto tensor = std::ranges::find(tensors, name, &EngineTensor::name);
    if (tensor == tensors.end() || tensor->is_input != is_input) {
      return invalid("the engine has no " + std::string{kind_of(is_input)} + " of this name", name)
          .with_expected(names_of(tensors, is_input), name);
    }
    ordered.push_back(static_cast<std::size_t>(tensor - tensors.begin()));
  }
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].is_input != is_input || std::ranges::find(ordered, t) != ordered.end()) continue;
    return invalid("the blob leaves out an " + std::string{kind_of(is_input)} + " of the engine's", tensors[t].name);
  }
  return ordered;
}

std::optional<std::size_t> position(std::span<const std::size_t> bound, std::span<const EngineTensor> tensors,
                                    std::string_view name) {
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (tensors[bound[i]].name == name) return i;
  }
  return std::nullopt;
}

Status add_alias(const BlobAlias& alias, std::span<const EngineTensor> tensors, Bindings& bindings) {
  const auto output = position(bindings.outputs, tensors, alias.output);
  if (!output) return invalid("aliased I/O names no output of the engine", alias.output);
  const auto input = position(bindings.inputs, tensors, alias.input);
  if (!input) return invalid("aliased I/O names no input of the engine", alias.input);
  const EngineTensor& from = tensors[bindings.inputs[*input]];
  const EngineTensor& to = tensors[bindings.outputs[*output]];
  const bool same = to.alias_of == bindings.inputs[*input];
  // An engine that writes elsewhere by itself cannot be told otherwise.
  if (!same && (to.alias_of || alias.kind == BlobAlias::Kind::KvCacheUpdate)) {
    return invalid("the engine does not write this output where the blob says", alias.output)
        .with_expected(alias.input, to.alias_of ? tensors[*to.alias_of].name : "memory of its own");
  }
  if (from.sizes != to.sizes || from.dtype != to.dtype) {
    return invalid("an aliased output has another shape or type than its input", alias.output)
        .with_expected(from.type_name + base::text_of(from.sizes), to.type_name + base::text_of(to.sizes));
  }
  bindings.alias_of[*output] = input;
  return {};
}

Status check_tensor(const EngineTensor& tensor, const ArgumentSpec& spec) {
  if (spec.kind != Argument::Kind::Tensor) {
    if (spec.kind == Argument::Kind::None && !tensor.is_input) return {};
    return Error{ErrorCode::InvalidProgram, "an argument of an engine is no tensor"};
  }
  if (tensor.is_shape_value) {
    return Error{ErrorCode::NotSupported, "the engine has a tensor whose contents decide shapes"};
  }
  if (tensor.is_on_host) return Error{ErrorCode::NotSupported, "the engine has a tensor in host memory"};
  if (!tensor.is_linear) {
    return Error{ErrorCode::NotSupported, "the engine has a tensor in a format that is not linear"}.with_expected(
        "linear", tensor.format_name);
  }
  if (tensor.dtype != spec.dtype) {
    return Error{ErrorCode::InvalidType, "the engine has another dtype than the program"}.with_expected(
        tensor.dtype ? std::string{name_of(*tensor.dtype)} : tensor.type_name, std::string{name_of(spec.dtype)});
  }
  for (std::size_t d = 0; d < spec.dim_order.size(); ++d) {
    if (spec.dim_order[d] == d) continue;
    return Error{ErrorCode::NotSupported, "an engine's tensor is not laid out row by row"}.with_expected(
        "axes in their order", base::text_of(spec.dim_order));
  }
  const bool scalar = spec.sizes.empty() && tensor.sizes.size() == 1;
  if (tensor.sizes.size() != spec.sizes.size() && !scalar) {
    return Error{ErrorCode::InvalidProgram, "the engine has another rank than the program"}.with_expected(
        base::text_of(tensor.sizes), base::text_of(spec.sizes));
  }
  return {};
}

}  // namespace

Result<Bindings> find_bindings(const Blob& blob, std::span<const EngineTensor> tensors) {
  const bool unnamed = blob.inputs.empty() && blob.outputs.empty();
  Bindings bindings;
  TANDEM_TRY(bindings.inputs, unnamed ? by_number(tensors, true) : by_name(tensors, blob.inputs, true));
  TANDEM_TRY(bindings.outputs, unnamed ? by_number(tensors, false) : by_name(tensors, blob.outputs, false));
  bindings.alias_of.resize(bindings.outputs.size());
  for (const BlobAlias& alias : blob.aliases) TANDEM_CHECK_OK(add_alias(alias, tensors, bindings));
  // What the engine does holds, whether the blob tells or not.
  for (const std::size_t output : bindings.outputs) {
    const EngineTensor& tensor = tensors[output];
    if (!tensor.alias_of) continue;
    TANDEM_CHECK_OK(add_alias({tensor.name, tensors[*tensor.alias_of].name}, tensors, bindings));
  }
  return bindings;
}

Status check_arguments(const Bindings& bindings, std::span<const EngineTensor> tensors,
                       std::span<const ArgumentSpec> arguments) {
  const std::size_t inputs = bindings.inputs.size();
  if (arguments.size() != inputs + bindings.outputs.size()) {
    return Error{ErrorCode::InvalidProgram, "the delegate call has another number of arguments than the engine"}
        .with_expected(std::to_string(inputs) + " inputs and " + std::to_string(bindings.outputs.size()) + " outputs",
                       std::to_string(arguments.size()) + " arguments");
  }
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    const EngineTensor& tensor = tensors[a < inputs ? bindings.inputs[a] : bindings.outputs[a - inputs]];
    if (Status checked = check_tensor(tensor, arguments[a]); !checked.ok()) {
      return std::move(checked).error().with_argument(static_cast<int>(a)).with_field(tensor.name);
    }
    if (tensor.is_input && !arguments[a].dynamic) TANDEM_CHECK_OK(check_profile(tensor, a, arguments[a].sizes));
  }
  return {};
}

Status check_profile(const EngineTensor& tensor, std::size_t argument, std::span<const std::int64_t> sizes) {
  constexpr std::int64_t kOne = 1;
  const std::span<const std::int64_t> taken =
      sizes.empty() && tensor.least.size() == 1 ? std::span<const std::int64_t>{&kOne, 1} : sizes;
  const auto refuse = [&](const std::string& axis, std::string expected, std::string found) {
    return Error{ErrorCode::InvalidArgument, "the engine was not built for this shape"}
        .with_expected(std::move(expected), std::move(found))
        .with_argument(static_cast<int>(argument))
        .with_field(tensor.name + axis);
  };
  if (taken.size() != tensor.least.size()) {
    return refuse("", "rank " + std::to_string(tensor.least.size()), base::text_of(sizes));
  }
  for (std::size_t d = 0; d < taken.size(); ++d) {
    if (taken[d] >= tensor.least[d] && taken[d] <= tensor.most[d]) continue;
    return refuse("[" + std::to_string(d) + "]",
                  std::to_string(tensor.least[d]) + " to " + std::to_string(tensor.most[d]), std::to_string(taken[d]));
  }
  return {};
}

}  // namespace tandem::tensorrt
