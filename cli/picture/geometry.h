#pragma once

/// Units: pixels, y downwards.
namespace tandem::cli {

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

}  // namespace tandem::cli
