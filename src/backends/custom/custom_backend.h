#pragma once

#include <tandem/backend.h>
#include <tandem/stream.h>

#include <memory>

namespace tandem::custom {

/// Makes a stream of a device; tests have devices of their own.
using StreamMaker = Result<Stream> (*)(DeviceId device);

/// `CustomBackend`: delegates that are libraries of the user's (tandem/custom.h), with payloads as in
/// tandem/custom_payload.h.
///
/// Load option `library_folder` (text): where relative paths of libraries start, instead of the program's folder.
///
/// Errors of prepare(): those of parse_custom_payload(), Library, ArgumentTable::of_program() and Instance::create();
///   NotFound, no such key; InvalidArgument, a relative path in a program that is in no folder; InvalidType, the option
///   is no text; NotSupported, the library does not run on the method's device.
[[nodiscard]] std::shared_ptr<Backend> make_custom_backend(StreamMaker make_stream = &Stream::create);

}  // namespace tandem::custom
