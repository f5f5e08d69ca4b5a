#include "cli/program_options.h"

#include "cli/random_values.h"
#include "cli/value_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

using Shapes = std::map<std::size_t, std::vector<std::int64_t>>;

Error with_argument(Error error, std::size_t argument) {
  return std::move(error).with_argument(static_cast<int>(argument));
}

Result<Shapes> read_shapes(const ProgramOptions& options, const MethodMeta& meta) {
  Shapes shapes;
  for (const std::string& text : options.shapes) {
    TANDEM_TRY(auto shape, parse_indexed_shape(text));
    const std::size_t input = shape.first;
    if (input >= meta.inputs.size() || meta.inputs[input].kind != Value::Kind::Tensor) {
      return with_argument(Error{ErrorCode::InvalidArgument, "--shape for something that is no tensor input"}, input);
    }
    if (input < options.inputs.size()) {
      return with_argument(Error{ErrorCode::InvalidArgument, "--shape for an input that --input gives"}, input);
    }
    if (!shapes.insert(std::move(shape)).second) {
      return with_argument(Error{ErrorCode::InvalidArgument, "--shape twice for one input"}, input);
    }
  }
  return shapes;
}

}  // namespace

std::vector<CLI::Option*> add_program_options(CLI::App& command, ProgramOptions& options) {
  std::vector<CLI::Option*> all{command.add_option("FILE", options.file, "The program, a .pte")->type_name("")};
  const auto add = [&](const std::string& name, auto& target, const std::string& text, const std::string& type) {
    all.push_back(command.add_option(name, target, text)->type_name(type)->allow_extra_args(false));
  };
  add("--method", options.method, "The method; default: forward, or the only one", "NAME");
  add("--data", options.data, "A data file of the program, a .ptd; may be repeated", "FILE");
  add("--input", options.inputs, "The next input; may be repeated", "VALUE");
  add("--random", options.random, "Make up the inputs that are not given; same numbers on every machine", "SEED");
  add("--shape", options.shapes, "Shape of a made-up input, as 0:2x3x4; default: the program's bound", "I:SHAPE");
  return all;
}

CLI::Option* add_share_buffers_option(CLI::App& command, SharedBuffers& value) {
  const auto read = [&value](const std::string& text) {
    Result<SharedBuffers> parsed = SharedBuffers::parse(text);
    if (!parsed.ok()) throw CLI::ValidationError("--share-buffers", parsed.error().to_string());
    value = *std::move(parsed);
  };
  return command
      .add_option_function<std::string>("--share-buffers", read,
                                        "Which mutable buffers of one name are one: all, none, or names with commas")
      ->type_name("all|none|NAME,...");
}

std::vector<fs::path> data_files(const ProgramOptions& options) { return {options.data.begin(), options.data.end()}; }

Result<std::vector<Value>> make_inputs(const ProgramOptions& options, const MethodMeta& meta) {
  TANDEM_TRY(const Shapes shapes, read_shapes(options, meta));
  std::vector<Value> values;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    std::optional<ScalarType> dtype;
    if (i < meta.inputs.size() && meta.inputs[i].kind == Value::Kind::Tensor) dtype = meta.inputs[i].tensor.dtype;
    Result<Value> value = parse_value(options.inputs[i], dtype);
    if (!value.ok()) return with_argument(std::move(value).error(), i);
    values.push_back(std::move(value).value());
  }
  if (values.size() < meta.inputs.size() && !options.random) {
    return Error{ErrorCode::InvalidArgument, "too few inputs; --random SEED makes up those that are not given"}
        .with_expected(std::to_string(meta.inputs.size()), std::to_string(values.size()))
        .with_method(meta.name);
  }
  for (std::size_t i = values.size(); i < meta.inputs.size(); ++i) {
    const ValueInfo& info = meta.inputs[i];
    if (info.kind != Value::Kind::Tensor) {
      values.push_back(info.traced);
      continue;
    }
    const auto given = shapes.find(i);
    const auto& sizes = given != shapes.end() ? given->second : info.tensor.sizes;
    Result<Tensor> tensor = random_tensor(info.tensor.dtype, sizes, *options.random, i);
    if (!tensor.ok()) return with_argument(std::move(tensor).error(), i);
    values.push_back(std::move(tensor).value());
  }
  return values;
}

Error with_data_hint(Error error, const fs::path& file) {
  if (error.code() != ErrorCode::NotFound || error.site().key.empty()) return error;
  std::vector<std::string> beside;
  std::error_code code;
  const fs::path folder = file.parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator{folder.empty() ? "." : folder, code}) {
    if (entry.path().extension() == ".ptd") beside.push_back((folder / entry.path().filename()).string());
  }
  std::sort(beside.begin(), beside.end());
  const std::string files = beside.empty() ? "no .ptd file lies beside the program"
                                           : fmt::format("beside the program: {}", fmt::join(beside, ", "));
  Error hinted{error.code(), fmt::format("{} (data files are named with --data; {})", error.message(), files)};
  return std::move(hinted).with_expected(error.expected(), error.found()).with_site(error.site());
}

}  // namespace tandem::cli
