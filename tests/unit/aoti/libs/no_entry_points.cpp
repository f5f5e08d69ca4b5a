// A shared library that is none of AOTInductor's.
extern "C" __attribute__((visibility("default"))) int tandem_test_answer() { return 42; }
