#include "support/reference_engine/reference_provider.h"

#include "device/stream.h"
#include "support/reference_engine/reference_engine.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem::testing {

using tensorrt::EngineTensor;
using Json = nlohmann::json;

namespace {

constexpr std::int64_t kAutomaticBudget = 1000;

Error broken(std::string text) {
  return Error{ErrorCode::BackendFailed, "the reference library refused a call"}.with_native(Origin::TensorRt, 3,
                                                                                             std::move(text));
}

}  // namespace

class LoadedReferenceEngine final : public tensorrt::Engine {
 public:
  LoadedReferenceEngine(const ReferenceProvider& provider, const Json& json) : provider_{provider} {
    spec.op = static_cast<ReferenceOp>(json.at("op").get<int>());
    spec.scale = json.at("scale");
    spec.amount = json.at("amount");
    spec.spin_cycles = json.at("spin_cycles");
    spec.auxiliary_streams = json.at("auxiliary_streams");
    spec.streamable_bytes = json.at("streamable_bytes");
    for (const Json& item : json.at("tensors")) {
      EngineTensor tensor;
      tensor.name = item.at("name");
      tensor.is_input = item.at("is_input");
      tensor.sizes = item.at("sizes").get<std::vector<std::int64_t>>();
      tensor.least = item.at("least").get<std::vector<std::int64_t>>();
      tensor.most = item.at("most").get<std::vector<std::int64_t>>();
      tensor.type_name = item.at("dtype");
      tensor.dtype = scalar_type_from_name(tensor.type_name);
      tensor.format_name = item.at("format");
      tensor.is_linear = tensor.format_name == "linear";
      tensor.is_on_host = item.at("on_host");
      tensor.is_shape_value = item.at("is_shape_value");
      for (std::size_t t = 0; t < tensors_.size(); ++t) {
        if (tensors_[t].name == item.at("alias_of")) tensor.alias_of = t;
      }
      tensors_.push_back(std::move(tensor));
    }
  }

  const std::vector<EngineTensor>& tensors() const override { return tensors_; }
  std::uint32_t auxiliary_streams() const override { return static_cast<std::uint32_t>(spec.auxiliary_streams); }
  std::int64_t streamable_bytes() const override { return spec.streamable_bytes; }
  std::int64_t automatic_budget() const override { return kAutomaticBudget; }
  Status set_weight_budget(std::int64_t bytes) override {
    ++provider_.counts_.budgets;
    const bool fails = bytes == kAutomaticBudget ? provider_.automatic_budget_fails : provider_.explicit_budget_fails;
    if (fails) return broken("the budget cannot be had");
    if (bytes > spec.streamable_bytes && bytes != kAutomaticBudget) return broken("the budget is too large");
    provider_.counts_.budget = bytes;
    return {};
  }
  Result<std::unique_ptr<tensorrt::EngineContext>> new_context() const override;

  ReferenceEngine spec{};

 private:
  const ReferenceProvider& provider_;
  std::vector<EngineTensor> tensors_{};
};

class ReferenceEngineContext final : public tensorrt::EngineContext {
 public:
  ReferenceEngineContext(const ReferenceProvider& provider, const LoadedReferenceEngine& engine,
                         std::unique_ptr<device::Stream> auxiliary)
      : provider_{provider},
        engine_{engine},
        shapes_(engine.tensors().size()),
        is_set_(engine.tensors().size()),
        addresses_(engine.tensors().size()),
        auxiliary_{std::move(auxiliary)} {}

  Status set_shape(std::size_t tensor, std::span<const std::int64_t> sizes) override {
    ++provider_.counts_.shapes;
    const EngineTensor& at = engine_.tensors().at(tensor);
    if (!at.is_input) return broken("setInputShape: no input");
    if (sizes.size() != at.least.size()) return broken("setInputShape: wrong rank");
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] < at.least[d] || sizes[d] > at.most[d]) return broken("setInputShape: outside the profile");
    }
    shapes_[tensor].assign(sizes.begin(), sizes.end());
    is_set_[tensor] = true;
    is_inferred_ = false;
    return {};
  }

  Status infer_shapes() override {
    ++provider_.counts_.infers;
    for (std::size_t t = 0; t < is_set_.size(); ++t) {
      if (engine_.tensors()[t].is_input && !is_set_[t]) return broken("inferShapes: " + engine_.tensors()[t].name);
    }
    for (std::size_t t = 0; t < is_set_.size(); ++t) {
      const EngineTensor& at = engine_.tensors()[t];
      if (at.is_input) continue;
      const bool varies = std::ranges::find(at.sizes, -1) != at.sizes.end();
      shapes_[t] = varies ? shapes_[0] : at.sizes;
    }
    is_inferred_ = true;
    is_warm_ = false;
    has_scratch_ = false;
    return {};
  }

  Result<std::vector<std::int64_t>> shape_of(std::size_t tensor) override {
    if (!is_inferred_) return broken("getTensorShape: shapes are not inferred");
    return shapes_.at(tensor);
  }

  Result<std::size_t> scratch_bytes() override {
    if (!is_inferred_) return broken("updateDeviceMemorySizeForShapes: shapes are not inferred");
    return elements(0) * sizeof(float);
  }

  Status set_scratch(std::span<std::byte> memory) override {
    ++provider_.counts_.scratches;
    if (!is_inferred_) return broken("setDeviceMemory: before the shapes");
    if (memory.size() < elements(0) * sizeof(float)) return broken("setDeviceMemory: too small");
    if (!is_aligned(memory.data())) return broken("setDeviceMemory: not aligned");
    scratch_ = memory.data();
    has_scratch_ = true;
    return {};
  }

  Status set_address(std::size_t tensor, void* data) override {
    ++provider_.counts_.addresses;
    if (!is_inferred_) return broken("setTensorAddress: before the shapes");
    if (data == nullptr) return broken("setTensorAddress: null");
    if (!is_aligned(data)) return broken("setTensorAddress: not aligned");
    addresses_.at(tensor) = data;
    return {};
  }

  Status enqueue(device::Stream& stream) override {
    ++provider_.counts_.enqueues;
    if (provider_.failing_enqueue >= 0 && provider_.failing_enqueue-- == 0) {
      return broken("enqueue: as told");
    }
    if (!is_inferred_) return broken("enqueue: shapes are not inferred");
    for (std::size_t t = 0; t < addresses_.size(); ++t) {
      const EngineTensor& at = engine_.tensors()[t];
      if (addresses_[t] == nullptr) return broken("enqueue: no address of " + at.name);
      if (at.alias_of && addresses_[t] != addresses_[*at.alias_of]) return broken("enqueue: alias of " + at.name);
    }
    if (!has_scratch_ && elements(0) != 0) return broken("enqueue: no scratch");
    if (provider_.capturing && !is_warm_) return broken("enqueue: the first run at new shapes is captured");
    is_warm_ = true;
    return launch(stream);
  }

 private:
  /// Which run of the context is over, for those that come after it.
  struct Turns {
    std::atomic<int> enqueued{0};
    std::atomic<int> over{0};
  };

  std::size_t elements(std::size_t tensor) const {
    std::size_t count = 1;
    for (const std::int64_t size : shapes_[tensor]) count *= static_cast<std::size_t>(size);
    return count;
  }
  bool is_aligned(const void* data) const { return reinterpret_cast<std::uintptr_t>(data) % provider_.alignment_ == 0; }

  ReferenceCall call() const {
    ReferenceCall call;
    call.op = engine_.spec.op;
    call.scale = engine_.spec.scale;
    call.amount = engine_.spec.amount;
    call.spin_cycles = engine_.spec.spin_cycles;
    const auto floats = [this](std::size_t t) { return static_cast<float*>(addresses_[t]); };
    call.x = floats(0);
    call.scratch = reinterpret_cast<float*>(scratch_);
    call.count = static_cast<std::int64_t>(elements(0));
    switch (call.op) {
      case ReferenceOp::Affine:
      case ReferenceOp::Sum:
        call.out = floats(1);
        break;
      case ReferenceOp::Add:
        call.y = floats(1);
        call.out = floats(2);
        break;
      case ReferenceOp::Cache:
        call.position = static_cast<const std::int64_t*>(addresses_[1]);
        call.cache = floats(2);
        call.out = floats(3);
        call.rows = shapes_[2][0];
        break;
    }
    return call;
  }

  Status launch(device::Stream& stream) {
    const ReferenceCall work = call();
    const int turn = turns_->enqueued++;
    auto& overtaken = provider_.counts_.overtaken;
    const auto first = [turns = turns_, turn, &overtaken](bool begins) {
      if (begins && turns->over != turn) ++overtaken;
    };
    const auto second = [turns = turns_](bool begins) {
      if (!begins) ++turns->over;
    };
    if (auxiliary_ == nullptr) {
      TANDEM_CHECK_OK(provider_.runner_.launch(stream, work, 0, first));
    } else {
      TANDEM_TRY(const Event fork, stream.make_event());
      TANDEM_CHECK_OK(stream.record(*fork.impl()));
      TANDEM_CHECK_OK(auxiliary_->wait(*fork.impl()));
      TANDEM_CHECK_OK(provider_.runner_.launch(*auxiliary_, work, 0, first));
      TANDEM_TRY(const Event join, auxiliary_->make_event());
      TANDEM_CHECK_OK(auxiliary_->record(*join.impl()));
      TANDEM_CHECK_OK(stream.wait(*join.impl()));
    }
    return provider_.runner_.launch(stream, work, 1, second);
  }

  const ReferenceProvider& provider_;
  const LoadedReferenceEngine& engine_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<bool> is_set_;
  std::vector<void*> addresses_;
  std::byte* scratch_ = nullptr;
  bool is_inferred_ = false;
  bool has_scratch_ = false;
  bool is_warm_ = false;
  std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
  std::unique_ptr<device::Stream> auxiliary_;
};

Result<std::unique_ptr<tensorrt::EngineContext>> LoadedReferenceEngine::new_context() const {
  ++provider_.counts_.contexts;
  std::unique_ptr<device::Stream> auxiliary;
  if (spec.auxiliary_streams != 0) {
    TANDEM_TRY(auxiliary, provider_.runner_.make_stream());
  }
  return std::make_unique<ReferenceEngineContext>(provider_, *this, std::move(auxiliary));
}

Result<std::unique_ptr<tensorrt::Engine>> ReferenceProvider::deserialize(std::span<const std::byte> bytes,
                                                                         DeviceId /*device*/) const {
  const Json json = Json::parse(reinterpret_cast<const char*>(bytes.data()),
                                reinterpret_cast<const char*>(bytes.data() + bytes.size()), nullptr, false);
  if (json.is_discarded() || !json.contains("reference_engine")) return broken("deserialize: not an engine");
  if (const int found = json["reference_engine"]; found != ReferenceEngine::kVersion) {
    return Error{ErrorCode::IncompatibleDelegate, "the engine was built with another version of the library"}
        .with_expected("version " + std::to_string(ReferenceEngine::kVersion), "version " + std::to_string(found))
        .with_native(Origin::TensorRt, 0, "deserialize: version tag does not match");
  }
  if (const std::string found = json["capability"]; !found.empty() && found != capability) {
    return Error{ErrorCode::IncompatibleDelegate, "the engine was built for another GPU"}
        .with_expected("compute capability " + capability, "compute capability " + found)
        .with_native(Origin::TensorRt, 0, "deserialize: wrong compute capability");
  }
  return std::make_unique<LoadedReferenceEngine>(*this, json);
}

}  // namespace tandem::testing
