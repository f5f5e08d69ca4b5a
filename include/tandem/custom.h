/* How to write a delegate of CustomBackend: a kernel of your own, for the host, CUDA or HIP, in a shared library.
 *
 * The library exports one function, tandem_custom_delegate(), which returns a table of functions. This header needs
 * nothing of Tandem and is C, C++, CUDA and HIP alike; docs/custom-kernels.md has examples.
 *
 * One call of the delegate in a program has arguments: first its inputs, then its outputs. The library says which it
 * reads and writes, Tandem gives it addresses and a stream. On a GPU the library enqueues its work on that stream, and
 * never waits for the device, uses another stream or allocates memory of the device in a call.
 *
 * Threads. Every instance of a method has a state of its own, which create() made. Calls with one state come one at a
 * time, from any thread. Calls with different states may come at the same time: what states share is the library's to
 * guard.
 *
 * Errors. Functions return 0, or a code of the library's own; a text that they write to `error` becomes part of
 * Tandem's error. C++ exceptions that leave them become errors too.
 *
 * Versions. Structs begin with their size. Later versions of this header add fields at the end and keep what is there;
 * whoever reads a struct looks at no more than its size says.
 */
#ifndef TANDEM_CUSTOM_H
#define TANDEM_CUSTOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TANDEM_CUSTOM_VERSION 1u

/* Marks tandem_custom_delegate() in a library that hides its functions. */
#define TANDEM_CUSTOM_EXPORT __attribute__((visibility("default")))

/* Devices, numbered as tandem::DeviceType. */
enum { TANDEM_CUSTOM_HOST = 0, TANDEM_CUSTOM_CUDA = 1, TANDEM_CUSTOM_HIP = 2 };
/* The set of devices that a library runs on: TANDEM_CUSTOM_ON(TANDEM_CUSTOM_HOST) | TANDEM_CUSTOM_ON(...). */
#define TANDEM_CUSTOM_ON(device) (1u << (device))

/* What an argument is. */
enum {
  TANDEM_CUSTOM_NONE = 0, /* an optional input that the program leaves out, or an output that it does not use */
  TANDEM_CUSTOM_TENSOR = 1,
  TANDEM_CUSTOM_INT = 2,
  TANDEM_CUSTOM_DOUBLE = 3,
  TANDEM_CUSTOM_BOOL = 4
};

/* How a tensor is used. */
enum {
  TANDEM_CUSTOM_DEFAULT = 0, /* inputs: read; outputs: written */
  TANDEM_CUSTOM_READ = 1,
  TANDEM_CUSTOM_WRITE = 2,    /* overwritten without being read */
  TANDEM_CUSTOM_UPDATE = 3,   /* read and written in place */
  TANDEM_CUSTOM_UNTOUCHED = 4 /* no byte of it; its sizes may be looked at */
};

/* Flags of a delegate. */
enum {
  /* enqueue() may run while the stream is captured into a graph, which then repeats its work without calling it: with
   * the same addresses, sizes and numbers, so nothing else may decide what it enqueues. */
  TANDEM_CUSTOM_CAPTURABLE = 1,
  /* The state keeps something from one call to the next that changes results. Each state of the method (tandem::State)
   * then has one of its own, and a reset makes it anew. */
  TANDEM_CUSTOM_STATEFUL = 2
};

typedef struct TandemCustomArgument {
  uint32_t struct_size;
  int32_t kind; /* TANDEM_CUSTOM_NONE, ... */

  /* Kind TENSOR. Sizes and strides have `rank` entries, strides count elements. */
  void* data; /* null in create(), shapes() and scratch_bytes(); may be null where there are no elements */
  const int64_t* sizes;
  const int64_t* strides;
  int32_t rank;
  int32_t dtype; /* as tandem::ScalarType and torch's: 0 uint8, 3 int32, 4 int64, 6 float32, 7 float64, 11 bool... */

  int64_t integer; /* Kind INT; kind BOOL: 0 or 1. */
  double real;     /* Kind DOUBLE. */
} TandemCustomArgument;

/* What create() is told, and what it answers.
 *
 * Lifetime: the arguments hold during the call, the blob until destroy().
 */
typedef struct TandemCustomSetup {
  uint32_t struct_size;
  uint32_t argument_count;
  /* As far as the program tells: kinds, dtypes and ranks never change; sizes are upper bounds where they vary; numbers
   * may be computed before the call, and are then not known. */
  const TandemCustomArgument* const* arguments;
  const void* blob; /* the bytes that the program has for this delegate, 16-byte aligned; null if there are none */
  size_t blob_bytes;
  int32_t device_type; /* where all calls run, and their tensors are: TANDEM_CUSTOM_HOST, ... */
  int32_t device_index;
  void* stream; /* cudaStream_t or hipStream_t: for uploads; Tandem waits for it afterwards. Null on the host */

  /* Out. */
  void* state;           /* handed to the other functions; null at first */
  uint32_t output_count; /* 1 at first */
  uint8_t* accesses;     /* `argument_count` entries, TANDEM_CUSTOM_DEFAULT at first */
  char* error;           /* for a text that ends in a zero byte */
  size_t error_bytes;
} TandemCustomSetup;

/* One call. In shapes() and scratch_bytes() there are no addresses, no scratch and no stream; in shapes() outputs have
 * no sizes either (null).
 *
 * Lifetime: everything holds until the function returns. The tensors' bytes and the scratch are the call's until
 * `stream` has passed what the function enqueued.
 */
typedef struct TandemCustomCall {
  uint32_t struct_size;
  uint32_t argument_count;
  const TandemCustomArgument* const* arguments; /* outputs have the sizes that are to be written */
  int32_t device_type;                          /* as create() was told */
  int32_t device_index;
  void* stream;         /* cudaStream_t or hipStream_t; null on the host */
  void* scratch;        /* on the call's device; at least 64-byte aligned, contents unknown */
  size_t scratch_bytes; /* at least what scratch_bytes() asked for */
  char* error;          /* for a text that ends in a zero byte */
  size_t error_bytes;
} TandemCustomCall;

/* What a library provides. Only `enqueue` has to be there. */
typedef struct TandemCustomDelegate {
  uint32_t struct_size; /* sizeof(TandemCustomDelegate) */
  uint32_t version;     /* TANDEM_CUSTOM_VERSION */
  uint32_t devices;     /* a set, see TANDEM_CUSTOM_ON; a method's own device is preferred to the host */
  uint32_t flags;       /* TANDEM_CUSTOM_CAPTURABLE, ... */

  /* Called when a method is loaded, and once for each further instance of it. May be slow. Without it every state is
   * null, there is one output, inputs are read and the output is written. In it, in destroy() and in enqueue() the
   * device is current for the calling thread. */
  int32_t (*create)(TandemCustomSetup* setup);
  /* Called once for each state, when no call is under way on any stream. */
  void (*destroy)(void* state);
  /* The sizes of the outputs. `output_sizes[i]` has an entry for each dimension of output i: its size at first, or -1
   * in all where the program leaves the output's sizes open. Null for TANDEM_CUSTOM_NONE. May depend on the inputs'
   * sizes and numbers, and is called when they have changed. Only needed where sizes are open. */
  int32_t (*shapes)(void* state, TandemCustomCall* call, int64_t* const* output_sizes);
  /* How much scratch a call with these sizes needs. May not depend on numbers. Called when sizes have changed. */
  size_t (*scratch_bytes)(void* state, const TandemCustomCall* call);
  /* Does the work on the host, or enqueues it on the GPU's stream: all of it in the stream's order. */
  int32_t (*enqueue)(void* state, TandemCustomCall* call);
} TandemCustomDelegate;

/* The one function that a library exports. `version` is the newest that the caller knows; a library that has an older
 * table returns that.
 *
 * Lifetime: the table holds as long as the library is open.
 */
TANDEM_CUSTOM_EXPORT const TandemCustomDelegate* tandem_custom_delegate(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
