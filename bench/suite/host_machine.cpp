#include "bench/suite/host_kernels.h"
#include "bench/suite/machine.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

namespace tandem::suite {
namespace {

class HostLauncher final : public Launcher {
 public:
  bool is_on_host() const noexcept override { return true; }
  Status launch(StreamRef /*stream*/, const KernelCall& call) override {
    run_on_host(call);
    return {};
  }
  Status record(Recorder& /*recorder*/, const KernelCall& /*call*/) override {
    return Error{ErrorCode::NotSupported, "nothing is recorded on the host"};
  }
};

class HostStream final : public RawStream {
 public:
  Status launch(std::span<const KernelCall> calls) override {
    for (const KernelCall& call : calls) run_on_host(call);
    return {};
  }
  Result<std::unique_ptr<RawGraph>> make_graph(std::span<const RawNode> /*nodes*/) override {
    return Error{ErrorCode::NotSupported, "the host has no raw graphs"};
  }
  Status launch(RawGraph& /*graph*/) override { return Error{ErrorCode::NotSupported, "the host has no raw graphs"}; }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status record(std::size_t /*mark*/) override { return {}; }
  Status wait(std::size_t /*mark*/) override { return {}; }
};

std::string processor() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "unknown processor";
}

class HostMachine final : public Machine {
 public:
  DeviceId device() const override { return {}; }
  std::string describe() const override {
    return fmt::format("host: {}, {} threads", processor(), std::thread::hardware_concurrency());
  }
  std::shared_ptr<Launcher> launcher() override { return launcher_; }
  Result<std::unique_ptr<LoadedMethod>> load(std::shared_ptr<const Program> program, MethodOptions options) override {
    options.device = device();
    TANDEM_TRY(auto method, Method::load(std::move(program), "forward", options));
    return std::unique_ptr<LoadedMethod>{new LoadedAs<Method>{std::move(method)}};
  }
  Result<Stream> make_stream() override { return Stream::create(device()); }
  Result<std::unique_ptr<RawStream>> make_raw_stream() override {
    return std::unique_ptr<RawStream>{std::make_unique<HostStream>()};
  }
  Result<std::shared_ptr<void>> allocate(std::size_t bytes) override {
    constexpr std::size_t kAlignment = 64;
    void* const data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    if (data == nullptr) return Error{ErrorCode::OutOfMemory, std::to_string(bytes) + " bytes cannot be had"};
    return std::shared_ptr<void>{data, &std::free};
  }
  Result<std::shared_ptr<void>> allocate_staging(std::size_t bytes) override { return allocate(bytes); }
  Status copy_now(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Result<std::optional<std::size_t>> launches_in(const std::function<Status()>& work) override {
    TANDEM_CHECK_OK(work());
    return std::optional<std::size_t>{};
  }

 private:
  std::shared_ptr<Launcher> launcher_ = std::make_shared<HostLauncher>();
};

}  // namespace

std::unique_ptr<Machine> make_host_machine() { return std::make_unique<HostMachine>(); }

}  // namespace tandem::suite
