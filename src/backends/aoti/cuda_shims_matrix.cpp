#include "backends/aoti/cuda_aoti_device.h"
#include "backends/aoti/cuda_library.h"
#include "backends/aoti/cuda_shims.h"
#include "backends/aoti/matrix_shims.h"

#include <cublasLt.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

/// Products of matrices, on cuBLASLt.
namespace tandem::aoti {
namespace {

#define TANDEM_TEXT_OF(number) #number
#define TANDEM_TEXT(number) TANDEM_TEXT_OF(number)
constexpr const char* kFile = "libcublasLt.so." TANDEM_TEXT(CUBLAS_VER_MAJOR);
#undef TANDEM_TEXT
#undef TANDEM_TEXT_OF

/// What NVIDIA recommends for the newest GPUs.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

struct CublasLt {
  CudaLibrary library{kFile};
  decltype(&cublasLtCreate) create = library.find("cublasLtCreate");
  decltype(&cublasLtMatmul) matmul = library.find("cublasLtMatmul");
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = library.find("cublasLtMatmulAlgoGetHeuristic");
  decltype(&cublasLtMatmulDescCreate) desc_create = library.find("cublasLtMatmulDescCreate");
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = library.find("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = library.find("cublasLtMatmulDescSetAttribute");
  decltype(&cublasLtMatrixLayoutCreate) layout_create = library.find("cublasLtMatrixLayoutCreate");
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = library.find("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = library.find("cublasLtMatrixLayoutSetAttribute");
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = library.find("cublasLtMatmulPreferenceCreate");
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = library.find("cublasLtMatmulPreferenceDestroy");
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = library.find("cublasLtMatmulPreferenceSetAttribute");
  decltype(&cublasLtGetStatusString) text = library.find("cublasLtGetStatusString");

  static const CublasLt& instance() {
    static const auto* cublas = new CublasLt;  // never destroyed: handles of it stay
    return *cublas;
  }
};

/// One handle per GPU: it holds no stream, and may be used by many threads.
cublasStatus_t handle_of(int gpu, cublasLtHandle_t* out) {
  static auto* handles = new std::map<int, cublasLtHandle_t>;
  static auto* mutex = new std::mutex;
  const std::scoped_lock lock{*mutex};
  cublasLtHandle_t& handle = (*handles)[gpu];
  const cublasStatus_t status = handle == nullptr ? CublasLt::instance().create(&handle) : CUBLAS_STATUS_SUCCESS;
  *out = handle;
  return status;
}

template <class Handle>
struct Destroy {
  cublasStatus_t (*destroy)(Handle);
  void operator()(Handle handle) const noexcept { destroy(handle); }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle>>;

struct Types {
  cudaDataType_t data;
  cublasComputeType_t compute;
  cudaDataType_t scale;
};

std::optional<Types> types_of(ScalarType dtype) noexcept {
  switch (dtype) {
    case ScalarType::Float:
      return Types{CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case ScalarType::Half:
      return Types{CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case ScalarType::BFloat16:
      return Types{CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case ScalarType::Double:
      return Types{CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
    default:
      return std::nullopt;
  }
}

/// A matrix, or a batch of them, with its transposition left open.
struct Matrix {
  std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;

  [[nodiscard]] Matrix transposed() const noexcept {
    return {data, columns, rows, column_stride, row_stride, batch_stride};
  }
  /// Whether rows are contiguous and apart. A stride over one element says nothing.
  [[nodiscard]] bool is_row_major() const noexcept {
    return (columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns);
  }
  [[nodiscard]] std::int64_t leading() const noexcept { return rows == 1 ? columns : row_stride; }
};

Matrix matrix_of(const AtenTensor& tensor) noexcept {
  const std::size_t lead = tensor.rank - std::size_t{2};
  return {tensor.data(),        tensor.sizes[lead],       tensor.sizes[lead + 1],
          tensor.strides[lead], tensor.strides[lead + 1], lead == 0 ? 0 : tensor.strides[0]};
}

/// The largest alignment that cuBLASLt cares about and the address has.
std::uint32_t alignment_of(const void* data) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(data) | 256U;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

/// One call of cublasLtMatmul: out = alpha * a @ b + beta * out, or + bias.
class Product {
 public:
  Product(CudaAotiDevice& device, const Types& types, std::int64_t batches) noexcept
      : device_{device}, types_{types}, batches_{batches} {}

  /// Null on success, else why it can't be done.
  const char* run(Matrix out, Matrix a, Matrix b, double alpha, double beta, const std::byte* bias) {
    if (!out.is_row_major()) {
      if (!out.transposed().is_row_major() || bias != nullptr) {
        is_layout_ = true;
        return "the result is contiguous neither by rows nor by columns";
      }
      const Matrix left = b.transposed();
      b = a.transposed();
      a = left;
      out = out.transposed();
    }
    // cuBLASLt counts columns first: what has contiguous rows is its transposed matrix, so the product is turned round.
    const char* why = describe(a, b, out);
    if (why != nullptr) return why;
    if (bias != nullptr) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias));
    }
    cublasLtHandle_t handle = nullptr;
    if (ok(handle_of(device_.gpu().index(), &handle))) find_and_run(handle, a, b, out, alpha, beta);
    return status_ == CUBLAS_STATUS_SUCCESS ? why_ : lt_.text(status_);
  }
  /// Tells if the layout of a matrix was the reason.
  [[nodiscard]] bool is_layout() const noexcept { return is_layout_; }

 private:
  bool ok(cublasStatus_t status) noexcept {
    if (status_ == CUBLAS_STATUS_SUCCESS) status_ = status;
    return status_ == CUBLAS_STATUS_SUCCESS;
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) noexcept {
    ok(lt_.desc_set(desc_.get(), attribute, &value, sizeof value));
  }

  /// The layout of a matrix as it lies in memory, and how it is to be read. Null if neither way is contiguous.
  Owned<cublasLtMatrixLayout_t> layout(const Matrix& matrix, std::optional<cublasLtMatmulDescAttributes_t> operation) {
    const bool straight = matrix.is_row_major();
    const Matrix stored = straight ? matrix : matrix.transposed();
    Owned<cublasLtMatrixLayout_t> owned{nullptr, {lt_.layout_destroy}};
    if (!stored.is_row_major()) return owned;
    cublasLtMatrixLayout_t made = nullptr;
    if (!ok(lt_.layout_create(&made, types_.data, static_cast<std::uint64_t>(stored.columns),
                              static_cast<std::uint64_t>(stored.rows), stored.leading()))) {
      return owned;
    }
    owned.reset(made);
    const auto count = static_cast<std::int32_t>(batches_);
    ok(lt_.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    ok(lt_.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batch_stride,
                      sizeof matrix.batch_stride));
    if (operation) set(*operation, straight ? CUBLAS_OP_N : CUBLAS_OP_T);
    return owned;
  }

  const char* describe(const Matrix& a, const Matrix& b, const Matrix& out) {
    cublasLtMatmulDesc_t desc = nullptr;
    if (!ok(lt_.desc_create(&desc, types_.compute, types_.scale))) return lt_.text(status_);
    desc_.reset(desc);
    first_ = layout(b, CUBLASLT_MATMUL_DESC_TRANSA);
    second_ = layout(a, CUBLASLT_MATMUL_DESC_TRANSB);
    out_ = layout(out, std::nullopt);
    if (status_ != CUBLAS_STATUS_SUCCESS) return lt_.text(status_);
    is_layout_ = !first_ || !second_;
    return is_layout_ ? "a matrix is contiguous neither by rows nor by columns" : nullptr;
  }

  void find_and_run(cublasLtHandle_t handle, const Matrix& a, const Matrix& b, const Matrix& out, double alpha,
                    double beta) {
    cublasLtMatmulPreference_t made = nullptr;
    if (!ok(lt_.preference_create(&made))) return;
    const Owned<cublasLtMatmulPreference_t> preference{made, {lt_.preference_destroy}};
    std::byte* const workspace = device_.workspace(kWorkspaceBytes);
    const std::size_t bytes = workspace == nullptr ? 0 : kWorkspaceBytes;
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      ok(lt_.preference_set(made, attribute, &value, sizeof value));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(b.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(a.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(out.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(out.data));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    if (!ok(lt_.heuristic(handle, desc_.get(), first_.get(), second_.get(), out_.get(), out_.get(), made, 1, &found,
                          &count))) {
      return;
    }
    if (count == 0) {
      why_ = "cuBLASLt has no algorithm for these matrices";
      return;
    }
    const auto multiply = [&](const auto& scale, const auto& keep) {
      ok(lt_.matmul(handle, desc_.get(), &scale, b.data, first_.get(), a.data, second_.get(), &keep, out.data,
                    out_.get(), out.data, out_.get(), &found.algo, workspace, bytes,
                    static_cast<cudaStream_t>(device_.stream())));
    };
    if (types_.scale == CUDA_R_64F) {
      multiply(alpha, beta);
    } else {
      multiply(static_cast<float>(alpha), static_cast<float>(beta));
    }
  }

  const CublasLt& lt_ = CublasLt::instance();
  CudaAotiDevice& device_;
  Types types_;
  std::int64_t batches_;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
  const char* why_ = nullptr;
  bool is_layout_ = false;
  Owned<cublasLtMatmulDesc_t> desc_{nullptr, {lt_.desc_destroy}};
  Owned<cublasLtMatrixLayout_t> first_{nullptr, {lt_.layout_destroy}};
  Owned<cublasLtMatrixLayout_t> second_{nullptr, {lt_.layout_destroy}};
  Owned<cublasLtMatrixLayout_t> out_{nullptr, {lt_.layout_destroy}};
};

/// Whether `self` can be added by the product itself: one row, for each of the result's.
bool is_bias(const AtenTensor& self, const AtenTensor& out) noexcept {
  return out.rank == 2 && self.rank == 1 && self.device_type == kAtenCuda && self.dtype == out.dtype &&
         self.sizes[0] == out.sizes[1] && (self.strides[0] == 1 || self.sizes[0] == 1) && matrix_of(out).is_row_major();
}

struct Cuda {
  static constexpr const char* kMm = "aoti_torch_cuda_mm_out";
  static constexpr const char* kBmm = "aoti_torch_cuda_bmm_out";
  static constexpr const char* kAddmm = "aoti_torch_cuda_addmm_out";
  static constexpr const char* kBaddbmm = "aoti_torch_cuda_baddbmm_out";

  static std::int32_t multiply(const char* shim, const MatrixProduct& product) {
    const auto& [out, self, a, b, beta, alpha] = product;
    CudaAotiDevice* device = calling_cuda();
    if (device == nullptr) return refuse(shim, "not within a call of the delegate");
    if (const std::string& problem = CublasLt::instance().library.problem(); !problem.empty()) {
      note_refusal("aoti_torch_" + std::string{shim} + ": " + problem, ErrorCode::IncompatibleDelegate);
      return std::int32_t{1};
    }
    const auto types = types_of(out.dtype);
    if (!types) return refuse_always(shim, "no products of this dtype: " + shape_of(out));
    if (out.device_type != kAtenCuda || a.device_type != kAtenCuda || b.device_type != kAtenCuda) {
      return refuse_always(shim, "a matrix is not on the GPU");
    }
    if (self != nullptr && self->dtype != out.dtype) {
      return refuse_always(shim, "self has another dtype: " + shape_of(*self));
    }
    if (out.numel() == 0) return kShimOk;
    if (!device->may_enqueue("a product of cuBLASLt's")) return 1;
    const bool bias = self != nullptr && beta == 1 && is_bias(*self, out);
    if (self != nullptr && beta != 0 && !bias && self->data() != out.data()) {
      if (const char* why = device->copy_elements(out, *self); why != nullptr) return refuse(shim, why);
    }
    if (a.sizes[out.rank - 1] == 0) return refuse(shim, "a product over no elements");
    Product call{*device, *types, out.rank == 3 ? out.sizes[0] : 1};
    const char* why =
        call.run(matrix_of(out), matrix_of(a), matrix_of(b), alpha, bias ? 0 : beta, bias ? self->data() : nullptr);
    if (why == nullptr) return kShimOk;
    return call.is_layout() ? refuse_always(shim, why) : refuse(shim, why);
  }
};

}  // namespace

void add_cuda_matrix_shims(std::vector<Shim>& shims) { MatrixShims<Cuda>::add(shims); }

}  // namespace tandem::aoti
