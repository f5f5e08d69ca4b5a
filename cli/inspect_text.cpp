#include "cli/inspect_text.h"

#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

// Reads what inspect_report.cpp wrote, so every field is there and of its kind.
namespace tandem::cli {
namespace {

using Align = Table::Align;

std::string text(const Json& json) { return json.is_null() ? "" : json.get<std::string>(); }
std::string number(const Json& json) { return json.is_null() ? "" : fmt::format("{}", json.get<std::uint64_t>()); }

std::string section(std::string_view title, const Table& table, std::size_t indent) {
  if (table.empty()) return {};
  return fmt::format("\n{}{}\n{}", std::string(indent, ' '), title, table.to_string(indent + 2));
}

/// "float32 <=360x1x8x8", "int 5", "none".
std::string type_of(const Json& value) {
  const std::string kind = text(value["kind"]);
  if (kind == "tensor") {
    return fmt::format("{} {}{}", text(value["dtype"]), value["dynamism"] == "static" ? "" : "<=",
                       shape_text(value["shape"].get<std::vector<std::int64_t>>()));
  }
  return value.contains("value")
             ? fmt::format("{} {}", kind, value["value"].dump(-1, ' ', false, Json::error_handler_t::replace))
             : kind;
}

/// The axes from outermost to innermost, where they are not simply 0, 1, 2, ...
std::string order_of(const Json& value) {
  if (value["kind"] != "tensor") return {};
  const auto order = value["dim_order"].get<std::vector<unsigned>>();
  if (std::is_sorted(order.begin(), order.end())) return {};
  return fmt::format("{}", fmt::join(order, ","));
}

std::string memory_of(const Json& value) {
  if (value["kind"] != "tensor") return {};
  if (const Json& memory = value["memory"]; !memory.is_null()) {
    return fmt::format("arena {} +{}", number(memory["id"]), number(memory["offset"]));
  }
  return value["data"] == "none" ? "not planned" : "constant";
}

std::string interface_text(std::string_view title, const Json& values, const std::set<std::int32_t>& computed = {}) {
  Table table{
      {{"#", Align::Right}, {"value"}, {"type"}, {"order"}, {"bytes", Align::Right}, {"memory"}, {"device"}, {"name"}}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Json& value = values[i];
    const bool tensor = value["kind"] == "tensor";
    const bool unknown = !tensor && computed.contains(value["index"].get<std::int32_t>());
    const std::string type = unknown ? text(value["kind"]) : type_of(value);
    table.add({std::to_string(i), "v" + number(value["index"]), type, order_of(value),
               tensor ? number(value["bytes"]) : "", memory_of(value), tensor ? text(value["device"]) : "",
               tensor ? text(value["name"]) : ""});
  }
  return section(title, table, 2);
}

std::string delegates_text(const Json& delegates) {
  Table table{{{"#", Align::Right}, {"id"}, {"payload", Align::Right}, {"compile specs"}, {"here"}}};
  Table keys{{{"delegate", Align::Right}, {"needs"}, {"key"}, {"bytes", Align::Right}, {"file"}}};
  for (const Json& delegate : delegates) {
    std::vector<std::string> specs;
    for (const Json& spec : delegate["compile_specs"]) {
      const std::string value = spec.contains("text") ? text(spec["text"]) : "0x" + text(spec["hex"]);
      specs.push_back(text(spec["key"]) + "=" + value);
    }
    table.add({number(delegate["index"]), text(delegate["id"]), number(delegate["payload_bytes"]),
               fmt::format("{}", fmt::join(specs, " ")),
               delegate["available"] == true ? "yes" : text(delegate["reason"])});
    for (const Json& key : delegate["keys"]) {
      keys.add({number(delegate["index"]), text(key["purpose"]),
                key["key"].is_null() ? "(in the payload)" : text(key["key"]), number(key["bytes"]),
                key["found"] == true      ? text(key["file"])
                : key["required"] == true ? "MISSING"
                                          : "not needed"});
    }
  }
  return section("delegates", table, 2) + section("delegates' data", keys, 2);
}

std::string operators_text(const Json& operators) {
  Table table{{{"#", Align::Right}, {"operator"}, {"calls", Align::Right}, {"here"}}};
  for (const Json& op : operators) {
    table.add({number(op["index"]), text(op["name"]), number(op["calls"]),
               op["available"] == true ? "yes" : "not available in this build"});
  }
  return section("operators", table, 2);
}

std::string memory_text(const Json& memory) {
  Table table{{{"what"}, {"type"}, {"bytes", Align::Right}, {"where"}, {"first bytes"}, {"name"}}};
  for (const Json& arena : memory["arenas"]) {
    table.add({"arena " + number(arena["id"]), "", number(arena["bytes"]), text(arena["device"]), "", ""});
  }
  if (memory["constants"]["count"] != 0) {
    table.add({count_text(memory["constants"]["count"].get<std::uint64_t>(), "constant"), "",
               number(memory["constants"]["bytes"]), "", "", ""});
  }
  for (const Json& buffer : memory["mutable_buffers"]) {
    const std::string data = text(buffer["data"]);
    table.add({"mutable v" + number(buffer["index"]), type_of(buffer), number(buffer["bytes"]), memory_of(buffer),
               data == "initial"    ? "in the program"
               : data == "external" ? "in a data file"
                                    : "zero",
               text(buffer["name"])});
  }
  return section("memory", table, 2);
}

/// Numbers that a run computes or moves: what the file stores for them means nothing.
std::set<std::int32_t> computed_values(const Json& method) {
  std::set<std::int32_t> computed;
  for (const Json& chain : method["chains"]) {
    for (const Json& instruction : chain["instructions"]) {
      if (instruction["kind"] == "move") computed.insert(instruction["to"].get<std::int32_t>());
      if (instruction["kind"] == "kernel" && !instruction["args"].empty()) {
        const auto result = instruction["args"].back().get<std::int32_t>();
        // A list of results is only a list of the tensors that were written.
        if (!method["values"][static_cast<std::size_t>(result)].contains("values")) computed.insert(result);
      }
    }
  }
  return computed;
}

/// Writes instructions the way people read them. Numbers that no instruction computes are shown instead of the value
/// that holds them.
class Listing {
 public:
  explicit Listing(const Json& method) : values_{method["values"]}, computed_{computed_values(method)} {
    for (const Json& input : method["inputs"]) defined_.insert(input["index"].get<std::int32_t>());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Json& value = values_[i];
      if (value["kind"] != "tensor" || value["data"] != "none" || text(value["name"]) != "") {
        defined_.insert(static_cast<std::int32_t>(i));
      }
    }
  }

  std::string line(const Json& instruction) {
    const std::string kind = text(instruction["kind"]);
    if (kind == "kernel") return kernel(instruction);
    if (kind == "delegate") return delegate(instruction);
    if (kind == "move") {
      defined_.insert(instruction["to"].get<std::int32_t>());
      return fmt::format("move {} -> {}", value(instruction["from"]), value(instruction["to"]));
    }
    if (kind == "free") return fmt::format("free {}", value(instruction["value"]));
    return fmt::format("if not {} go to {}", value(instruction["condition"]), number(instruction["destination"]));
  }

 private:
  std::string value(const Json& index) const { return value(index.get<std::int32_t>()); }
  std::string value(std::int32_t index) const {
    if (index < 0) return "none";
    if (computed_.count(index) != 0) return fmt::format("v{}", index);
    const Json& spec = values_[static_cast<std::size_t>(index)];
    const std::string kind = text(spec["kind"]);
    if (kind == "none") return "none";
    if (spec.contains("value")) return spec["value"].dump(-1, ' ', false, Json::error_handler_t::replace);
    if (spec.contains("items")) return spec["items"].dump();
    if (spec.contains("values")) {
      return fmt::format("[{}]", fmt::join(values(spec["values"].get<std::vector<std::int32_t>>()), ", "));
    }
    return fmt::format("v{}", index);
  }
  std::vector<std::string> values(const std::vector<std::int32_t>& indices) const {
    std::vector<std::string> texts;
    for (const std::int32_t index : indices) texts.push_back(value(index));
    return texts;
  }

  std::string kernel(const Json& instruction) {
    auto args = instruction["args"].get<std::vector<std::int32_t>>();
    if (args.empty()) return text(instruction["operator"]);
    // The wire format ends with the return value, which repeats the out of an out variant.
    const std::string name = text(instruction["operator"]);
    const std::int32_t result = args.back();
    args.pop_back();
    if (name.ends_with("out") && !args.empty() && args.back() == result) args.pop_back();
    defined_.insert(result);
    return fmt::format("{}  ({}) -> {}", name, fmt::join(values(args), ", "), value(result));
  }

  /// The file does not tell a delegate's inputs from its outputs; the arrow stands before the first value that nothing
  /// has written yet.
  std::string delegate(const Json& instruction) {
    const auto args = instruction["args"].get<std::vector<std::int32_t>>();
    const auto first_output =
        std::find_if(args.begin(), args.end(), [this](std::int32_t arg) { return defined_.count(arg) == 0; });
    defined_.insert(args.begin(), args.end());
    std::string line = fmt::format("delegate {} {}  ({})", number(instruction["delegate"]), text(instruction["id"]),
                                   fmt::join(values({args.begin(), first_output}), ", "));
    if (first_output != args.end())
      line += fmt::format(" -> ({})", fmt::join(values({first_output, args.end()}), ", "));
    return line;
  }

  const Json& values_;
  std::set<std::int32_t> defined_;   // has contents at this point of the listing
  std::set<std::int32_t> computed_;  // numbers and lists that a run changes
};

std::string instructions_text(const Json& method, std::size_t max_instructions) {
  std::string out;
  Listing listing{method};
  const Json& chains = method["chains"];
  for (std::size_t c = 0; c < chains.size(); ++c) {
    const Json& instructions = chains[c]["instructions"];
    Table table{{{"#", Align::Right}, {"instruction"}}};
    for (std::size_t i = 0; i < std::min(instructions.size(), max_instructions); ++i) {
      table.add({std::to_string(i), listing.line(instructions[i])});
    }
    out += section(chains.size() == 1 ? "instructions" : fmt::format("instructions of chain {}", c), table, 2);
    if (instructions.size() > max_instructions) {
      out += fmt::format("    ... {} more, --instructions shows all\n", instructions.size() - max_instructions);
    }
  }
  return out;
}

std::string method_text(const Json& method, std::size_t max_instructions) {
  std::string out = fmt::format("\nmethod {}: {}\n", printable(text(method["name"])),
                                method["available"] == true ? "available here" : "NOT available here");
  for (const Json& problem : method["problems"]) out += fmt::format("  {}\n", printable(text(problem)));
  return out + interface_text("inputs", method["inputs"]) +
         interface_text("outputs", method["outputs"], computed_values(method)) + delegates_text(method["delegates"]) +
         operators_text(method["operators"]) + memory_text(method["memory"]) +
         instructions_text(method, max_instructions);
}

std::string methods_text(const Json& methods) {
  Table table{{{"method"},
               {"inputs", Align::Right},
               {"outputs", Align::Right},
               {"instructions", Align::Right},
               {"delegates", Align::Right},
               {"operators", Align::Right},
               {"here"}}};
  for (const Json& method : methods) {
    std::size_t instructions = 0;
    for (const Json& chain : method["chains"]) instructions += chain["instructions"].size();
    table.add({text(method["name"]), std::to_string(method["inputs"].size()), std::to_string(method["outputs"].size()),
               std::to_string(instructions), std::to_string(method["delegates"].size()),
               std::to_string(method["operators"].size()), method["available"] == true ? "yes" : "no"});
  }
  return section("methods", table, 0);
}

void add_named_data(Table& table, const Json& file) {
  for (const Json& entry : file["named_data"]) {
    const Json layout = entry.value("layout", Json{});
    table.add({text(entry["key"]), number(entry["bytes"]), number(entry["segment"]),
               layout.is_null() ? ""
                                : fmt::format("{} {}", text(layout["dtype"]),
                                              shape_text(layout["shape"].get<std::vector<std::int64_t>>())),
               text(file["file"])});
  }
}

Table named_data_table() {
  return Table{{{"key"}, {"bytes", Align::Right}, {"segment", Align::Right}, {"type"}, {"file"}}};
}

Table segments_table(const Json& segments) {
  Table table{{{"#", Align::Right}, {"offset", Align::Right}, {"bytes", Align::Right}}};
  for (const Json& segment : segments) {
    table.add({number(segment["index"]), number(segment["offset"]), number(segment["bytes"])});
  }
  return table;
}

std::string program_text(const Json& report, std::size_t max_instructions) {
  std::string out = fmt::format("{}: program (.pte), {} bytes, {}, {}\n", printable(text(report["file"])),
                                number(report["bytes"]), count_text(report["methods"].size(), "method"),
                                report["available"] == true ? "all available here" : "not all available here");
  out += methods_text(report["methods"]);
  for (const Json& method : report["methods"]) out += method_text(method, max_instructions);
  Table named = named_data_table();
  add_named_data(named, report);
  for (const Json& file : report["data_files"]) add_named_data(named, file);
  return out + section("named data", named, 0) + section("segments", segments_table(report["segments"]), 0);
}

std::string data_text(const Json& report) {
  std::string out = fmt::format("{}: data file (.ptd), {} bytes, {}\n", printable(text(report["file"])),
                                number(report["bytes"]), count_text(report["named_data"].size(), "key"));
  Table named = named_data_table();
  add_named_data(named, report);
  return out + section("named data", named, 0) + section("segments", segments_table(report["segments"]), 0);
}

}  // namespace

std::string inspect_text(const Json& report, std::size_t max_instructions) {
  return report["kind"] == "pte" ? program_text(report, max_instructions) : data_text(report);
}

}  // namespace tandem::cli
