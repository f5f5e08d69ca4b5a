#include <tandem/device.h>

#include <array>
#include <charconv>

namespace tandem {

std::string to_string(DeviceId device) {
  switch (device.type) {
    case DeviceType::Host:
      return "host";
    case DeviceType::Cuda:
      return "cuda:" + std::to_string(device.index);
    case DeviceType::Hip:
      return "hip:" + std::to_string(device.index);
  }
  return "unknown";
}

Result<DeviceId> parse_device(std::string_view text) {
  if (text == "host" || text == "cpu") return DeviceId{};
  constexpr std::array<std::pair<std::string_view, DeviceType>, 2> kPrefixes{
      {{"cuda", DeviceType::Cuda}, {"hip", DeviceType::Hip}}};
  for (const auto& [prefix, type] : kPrefixes) {
    if (text == prefix) return DeviceId{type, 0};
    if (!text.starts_with(prefix) || text.size() < prefix.size() + 2 || text[prefix.size()] != ':') continue;
    const std::string_view digits = text.substr(prefix.size() + 1);
    std::int16_t index = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (code == std::errc{} && end == digits.data() + digits.size() && index >= 0) return DeviceId{type, index};
  }
  return Error{ErrorCode::InvalidArgument, "no such device"}.with_expected("host, cpu, cuda[:N] or hip[:N]",
                                                                           "'" + std::string{text} + "'");
}

}  // namespace tandem
