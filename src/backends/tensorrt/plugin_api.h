#pragma once

#include <stddef.h>
#include <stdint.h>

/// The border between Tandem and the plug-in that knows TensorRT's headers (nvinfer/). Plain C; structs begin with
/// their size and version, and grow at their end.
///
/// The plug-in makes no device current: callers do, before every call that takes an engine or a context.
extern "C" {

enum { TANDEM_NVINFER_VERSION = 1, TANDEM_NVINFER_MAX_RANK = 8 };

/// Why a call failed. `text` is what the library logged during the call, cut to fit.
typedef struct TandemNvinferFailure {
  uint32_t struct_size;
  uint32_t version;
  char text[2048];
} TandemNvinferFailure;

/// One input or output of an engine. Texts live as long as the engine.
typedef struct TandemNvinferTensor {
  uint32_t struct_size;
  uint32_t version;
  const char* name;
  const char* type_name;
  const char* format_name;
  int32_t scalar_type;  ///< A number of tandem::ScalarType; -1: none is the same.
  int32_t is_input;
  int32_t is_linear;
  int32_t is_on_host;
  int32_t is_shape_value;
  int32_t alias_of;  ///< Index of the input in whose memory an output is written; -1: its own.
  int32_t rank;
  int64_t sizes[TANDEM_NVINFER_MAX_RANK];  ///< -1 where they vary.
  int64_t least[TANDEM_NVINFER_MAX_RANK];  ///< Inputs: profile 0.
  int64_t most[TANDEM_NVINFER_MAX_RANK];
} TandemNvinferTensor;

typedef struct TandemNvinferEngine TandemNvinferEngine;
typedef struct TandemNvinferContext TandemNvinferContext;

/// Functions that can fail return 0 on success and fill `failure` otherwise.
typedef struct TandemNvinferApi {
  uint32_t struct_size;
  uint32_t version;
  const char* library;  ///< "TensorRT 10.13.2": what the plug-in was built for.
  uint32_t alignment;   ///< Of addresses and scratch, in bytes.

  /// Finds the library at run time. May be called again.
  int32_t (*load)(TandemNvinferFailure* failure);
  /// The library that load() found, "libnvinfer.so.10, version 10.13.2".
  const char* (*loaded)(void);

  TandemNvinferEngine* (*engine_open)(const void* bytes, size_t size, TandemNvinferFailure* failure);
  void (*engine_close)(TandemNvinferEngine* engine);
  int32_t (*tensor_count)(const TandemNvinferEngine* engine);
  int32_t (*tensor)(const TandemNvinferEngine* engine, int32_t index, TandemNvinferTensor* tensor,
                    TandemNvinferFailure* failure);
  int32_t (*auxiliary_streams)(const TandemNvinferEngine* engine);
  int64_t (*streamable_bytes)(const TandemNvinferEngine* engine);
  int64_t (*automatic_budget)(const TandemNvinferEngine* engine);
  int32_t (*set_weight_budget)(TandemNvinferEngine* engine, int64_t bytes, TandemNvinferFailure* failure);

  /// `auxiliary`: cudaStream_t handles, auxiliary_streams() of them, which outlive the context.
  TandemNvinferContext* (*context_open)(TandemNvinferEngine* engine, void* const* auxiliary, int32_t count,
                                        TandemNvinferFailure* failure);
  void (*context_close)(TandemNvinferContext* context);
  int32_t (*set_shape)(TandemNvinferContext* context, int32_t tensor, const int64_t* sizes, int32_t rank,
                       TandemNvinferFailure* failure);
  int32_t (*infer_shapes)(TandemNvinferContext* context, TandemNvinferFailure* failure);
  int32_t (*shape_of)(TandemNvinferContext* context, int32_t tensor, int64_t* sizes, int32_t* rank,
                      TandemNvinferFailure* failure);
  int32_t (*scratch_bytes)(TandemNvinferContext* context, size_t* bytes, TandemNvinferFailure* failure);
  int32_t (*set_scratch)(TandemNvinferContext* context, void* data, size_t bytes, TandemNvinferFailure* failure);
  int32_t (*set_address)(TandemNvinferContext* context, int32_t tensor, void* data, TandemNvinferFailure* failure);
  /// `stream`: a cudaStream_t.
  int32_t (*enqueue)(TandemNvinferContext* context, void* stream, TandemNvinferFailure* failure);
} TandemNvinferApi;

/// What the plug-in's only exported function, `tandem_nvinfer_api`, is.
typedef const TandemNvinferApi* (*TandemNvinferEntry)(void);

}  // extern "C"
