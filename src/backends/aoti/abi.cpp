#include "backends/aoti/abi.h"

#include <dlfcn.h>
#include <string>

namespace tandem::aoti {
namespace {

template <class Function>
bool look_up(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

}  // namespace

#define TANDEM_CONTAINER(name) "AOTInductorModelContainer" name

Result<AotiSymbols> find_symbols(void* library) {
  AotiSymbols symbols;
  std::string missing;
  const auto require = [&](const char* name, auto& out) {
    if (look_up(library, name, out)) return;
    missing += missing.empty() ? "" : ", ";
    missing += name;
  };
  require(TANDEM_CONTAINER("CreateWithDevice"), symbols.create);
  require(TANDEM_CONTAINER("Delete"), symbols.destroy);
  require(TANDEM_CONTAINER("GetNumInputs"), symbols.input_count);
  require(TANDEM_CONTAINER("GetNumOutputs"), symbols.output_count);
  if (!look_up(library, TANDEM_CONTAINER("RunSingleThreaded"), symbols.run)) {
    require(TANDEM_CONTAINER("Run"), symbols.run);
  }
  if (!missing.empty()) {
    return Error{ErrorCode::IncompatibleDelegate, "the library lacks entry points of AOTInductor: " + missing};
  }
  look_up(library, TANDEM_CONTAINER("GetInputName"), symbols.input_name);
  look_up(library, TANDEM_CONTAINER("GetOutputName"), symbols.output_name);
  look_up(library, TANDEM_CONTAINER("GetNumConstants"), symbols.constant_count);
  look_up(library, TANDEM_CONTAINER("GetConstantName"), symbols.constant_name);
  look_up(library, TANDEM_CONTAINER("GetConstantOriginalFQN"), symbols.constant_fqn);
  look_up(library, TANDEM_CONTAINER("GetConstantFromFolded"), symbols.constant_folded);
  look_up(library, TANDEM_CONTAINER("GetConstantType"), symbols.constant_type);
  look_up(library, TANDEM_CONTAINER("GetConstantDtype"), symbols.constant_dtype);
  look_up(library, TANDEM_CONTAINER("GetConstantDataSize"), symbols.constant_bytes);
  look_up(library, TANDEM_CONTAINER("UpdateUserManagedConstantBufferPairs"), symbols.bind_constants);
  look_up(library, TANDEM_CONTAINER("RunConstantFolding"), symbols.fold_constants);
  look_up(library, "AOTInductorModelUpdateConstantsFromBlob", symbols.load_blob);
  look_up(library, "AOTInductorGetLastError", symbols.last_error);
  return symbols;
}

#undef TANDEM_CONTAINER

}  // namespace tandem::aoti
