#pragma once

/// Marks what the shared library `tandem` exports; everything else stays hidden.
#define TANDEM_EXPORT __attribute__((visibility("default")))
