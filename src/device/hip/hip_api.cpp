#include "device/hip/hip_api.h"

namespace tandem::device::hip {
namespace {

using gpu::CaptureMode;
using gpu::CaptureStatus;

hipStreamCaptureMode native(CaptureMode mode) noexcept {
  switch (mode) {
    case CaptureMode::Global:
      return hipStreamCaptureModeGlobal;
    case CaptureMode::ThreadLocal:
      return hipStreamCaptureModeThreadLocal;
    case CaptureMode::Relaxed:
      break;
  }
  return hipStreamCaptureModeRelaxed;
}

CaptureMode ours(hipStreamCaptureMode mode) noexcept {
  switch (mode) {
    case hipStreamCaptureModeGlobal:
      return CaptureMode::Global;
    case hipStreamCaptureModeThreadLocal:
      return CaptureMode::ThreadLocal;
    case hipStreamCaptureModeRelaxed:
      break;
  }
  return CaptureMode::Relaxed;
}

}  // namespace

ErrorCode HipApi::meaning(Code code) noexcept {
  switch (code) {
    case hipErrorOutOfMemory:
      return ErrorCode::OutOfMemory;
    case hipErrorIllegalAddress:
    case hipErrorLaunchTimeOut:
    case hipErrorLaunchFailure:
    case hipErrorContextIsDestroyed:
    case hipErrorInvalidContext:
    case hipErrorAssert:
    case hipErrorECCNotCorrectable:
      return ErrorCode::DeviceFault;
    case hipErrorNoDevice:
    case hipErrorInvalidDevice:
      return ErrorCode::NotFound;
    case hipErrorInsufficientDriver:
    case hipErrorNotSupported:
      return ErrorCode::NotSupported;
    case hipErrorInvalidImage:
    case hipErrorInvalidKernelFile:
    case hipErrorNoBinaryForGpu:
      return ErrorCode::IncompatibleDelegate;
    case hipErrorInvalidValue:
    case hipErrorInvalidDevicePointer:
    case hipErrorInvalidHandle:
      return ErrorCode::InvalidArgument;
    case hipErrorIllegalState:
    case hipErrorStreamCaptureUnsupported:
    case hipErrorStreamCaptureInvalidated:
    case hipErrorStreamCaptureMerge:
    case hipErrorStreamCaptureUnmatched:
    case hipErrorStreamCaptureUnjoined:
    case hipErrorStreamCaptureIsolation:
    case hipErrorStreamCaptureImplicit:
    case hipErrorCapturedEvent:
    case hipErrorStreamCaptureWrongThread:
      return ErrorCode::InvalidState;
    default:
      return ErrorCode::Internal;
  }
}

hipError_t HipApi::enter(int device, Caller* caller) noexcept {
  const Code code = hipGetDevice(&caller->device);
  if (code != hipSuccess || caller->device == device) return code;
  caller->is_switched = true;
  return hipSetDevice(device);
}

hipStream_t HipApi::per_thread_stream() noexcept { return hipStreamPerThread; }

hipError_t HipApi::capture_begin(Stream stream, CaptureMode mode) noexcept {
  return hipStreamBeginCapture(stream, native(mode));
}

hipError_t HipApi::capture_status(Stream stream, CaptureStatus* status) noexcept {
  hipStreamCaptureStatus found = hipStreamCaptureStatusNone;
  const Code code = hipStreamIsCapturing(stream, &found);
  switch (found) {
    case hipStreamCaptureStatusNone:
      *status = CaptureStatus::None;
      break;
    case hipStreamCaptureStatusActive:
      *status = CaptureStatus::Active;
      break;
    case hipStreamCaptureStatusInvalidated:
      *status = CaptureStatus::Invalidated;
      break;
  }
  return code;
}

hipError_t HipApi::exchange_capture_mode(CaptureMode* mode) noexcept {
  hipStreamCaptureMode exchanged = native(*mode);
  const Code code = hipThreadExchangeStreamCaptureMode(&exchanged);
  *mode = ours(exchanged);
  return code;
}

}  // namespace tandem::device::hip
