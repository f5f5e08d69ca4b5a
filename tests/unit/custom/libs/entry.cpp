// Libraries whose entry point or table is wrong, as the definitions say.
#include <tandem/custom.h>

#include <stdexcept>

#ifdef IMPORTS_NOTHING_THERE
extern "C" int tandem_test_is_nowhere();
#endif

namespace {

int32_t enqueue(void* /*state*/, TandemCustomCall* /*call*/) {
#ifdef IMPORTS_NOTHING_THERE
  return tandem_test_is_nowhere();
#else
  return 0;
#endif
}

const TandemCustomDelegate delegate = [] {
  TandemCustomDelegate table{};
  table.struct_size = sizeof table;
  table.version = TANDEM_CUSTOM_VERSION;
  table.devices = TANDEM_CUSTOM_ON(TANDEM_CUSTOM_HOST);
  table.enqueue = enqueue;
#ifdef WRONG_VERSION
  table.version = WRONG_VERSION;
#endif
#ifdef SHORT_TABLE
  table.struct_size = 8;
#endif
#ifdef NO_ENQUEUE
  table.enqueue = nullptr;
#endif
  return table;
}();

}  // namespace

#ifdef NO_ENTRY
extern "C" TANDEM_CUSTOM_EXPORT const TandemCustomDelegate* another_name(uint32_t /*version*/) { return &delegate; }
#else
extern "C" const TandemCustomDelegate* tandem_custom_delegate(uint32_t /*version*/) {
#ifdef NO_TABLE
  return nullptr;
#endif
#ifdef ENTRY_THROWS
  throw std::runtime_error{"not today"};
#endif
  return &delegate;
}
#endif
