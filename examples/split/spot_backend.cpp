#include "spot_backend.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace {

using tandem::Result, tandem::Status;

class SpotContext final : public tandem::DelegateContext {
 public:
  Result<tandem::BoundLayout> bind(std::span<const tandem::Argument* const> /*arguments*/) override {
    return tandem::BoundLayout{};
  }
  Status enqueue(tandem::EnqueueArgs& args) override {
    const tandem::TensorArg& map = args.arguments[0]->tensor;
    const tandem::TensorArg& spot = args.arguments[1]->tensor;
    const auto* values = static_cast<const float*>(map.data);
    const std::int64_t at = std::max_element(values, values + map.numel()) - values;
    const std::int64_t width = map.sizes[3];
    auto* place = static_cast<std::int64_t*>(spot.data);
    place[0] = at / width;
    place[1] = at % width;
    return {};  // args.outputs[0] says already: in place, with the size that the program fixes
  }
};

class SpotDelegate final : public tandem::Delegate {
 public:
  [[nodiscard]] tandem::DelegateCapabilities capabilities() const override { return {}; }
  [[nodiscard]] std::size_t output_count() const override { return 1; }
  [[nodiscard]] Result<std::unique_ptr<tandem::DelegateContext>> new_context() const override {
    return std::unique_ptr<tandem::DelegateContext>{new SpotContext};
  }
};

class SpotBackend final : public tandem::Backend {
 public:
  [[nodiscard]] Result<std::unique_ptr<tandem::Delegate>> prepare(std::span<const std::byte> /*payload*/,
                                                                  const tandem::LoadContext& load) const override {
    const auto is_tensor = [&load](std::size_t i, tandem::ScalarType dtype, std::size_t rank) {
      const tandem::ArgumentSpec& spec = load.arguments[i];
      return spec.kind == tandem::Argument::Kind::Tensor && spec.dtype == dtype && spec.sizes.size() == rank;
    };
    if (load.arguments.size() != 2 || !is_tensor(0, tandem::ScalarType::Float, 4) ||
        !is_tensor(1, tandem::ScalarType::Long, 1) || load.arguments[1].sizes[0] != 2) {
      return tandem::Error{tandem::ErrorCode::InvalidProgram, "a spot is found in float32 [1, 1, h, w], as int64 [2]"};
    }
    return std::unique_ptr<tandem::Delegate>{new SpotDelegate};
  }
};

}  // namespace

std::shared_ptr<tandem::Backend> make_spot_backend() { return std::make_shared<SpotBackend>(); }
