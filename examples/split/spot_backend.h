#pragma once

#include <tandem/backend.h>

#include <memory>

/// A kind of delegate of the program's own: where the largest number of a float32 [1, 1, h, w] is, as int64 [row,
/// column]. It needs no payload, and runs on the host.
std::shared_ptr<tandem::Backend> make_spot_backend();
