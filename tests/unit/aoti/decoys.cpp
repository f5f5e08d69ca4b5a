// What a process that also holds another runtime looks like: names that libraries import, visible to everybody. None
// may ever be called.
#include <cstdlib>

#define DECOY(name) \
  extern "C" __attribute__((visibility("default"))) void name() { std::abort(); }

DECOY(aoti_torch_empty_strided)
DECOY(aoti_torch_get_data_ptr)
DECOY(aoti_torch_delete_tensor_object)
DECOY(aoti_torch_device_type_cpu)
DECOY(aoti_torch_dtype_float32)
DECOY(aoti_torch_create_tensor_from_blob_v2)
DECOY(aoti_torch_grad_mode_set_enabled)
