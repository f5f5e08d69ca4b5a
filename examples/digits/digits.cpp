// Classifies handwritten digits with a program that the exporter split over two delegate ids, and draws some of them.
//
//   digits FOLDER PICTURE.svg        FOLDER is tests/fixtures/digits
#include <tandem/module.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "npy.h"
#include "picture.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kClasses = 10;

/// Reads the digits and classifies them all in one batch.
tandem::Result<Digits> classify(const fs::path& folder) {
  Digits digits;
  TANDEM_TRY(digits.pixels, read_npy<float>(folder / "forward_3_in0.npy", "<f4"));
  TANDEM_TRY(digits.labels, read_npy<std::int64_t>(folder / "labels.npy", "<i8"));
  if (digits.size() == 0 || digits.pixels.size() != digits.size() * kPixels) {
    return tandem::Error{tandem::ErrorCode::InvalidArgument, "pixels and labels do not fit"}.with_file(folder.string());
  }

  tandem::Module module{folder / "program.pte", {folder / "aoti_cpu_blob.ptd"}};
  const std::array<std::int64_t, 4> sizes = {static_cast<std::int64_t>(digits.size()), 1, kSide, kSide};
  TANDEM_TRY(const tandem::Tensor batch,
             tandem::Tensor::from_blob(digits.pixels.data(), tandem::ScalarType::Float, sizes));
  TANDEM_TRY(const std::vector<tandem::Value> outputs, module.forward(batch));

  const tandem::Tensor& scores = outputs.at(0).tensor();  // one row of kClasses for each digit
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::span<const float> row{scores.data_as<float>() + i * kClasses, kClasses};
    digits.guesses.push_back(std::distance(row.begin(), std::ranges::max_element(row)));
  }
  return digits;
}

tandem::Status run(const fs::path& folder, const fs::path& picture) {
  TANDEM_TRY(const Digits digits, classify(folder));
  std::size_t right = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) right += digits.is_right(i) ? 1 : 0;
  const double accuracy = static_cast<double>(right) / static_cast<double>(digits.size());
  const std::string counts = std::to_string(right) + " of " + std::to_string(digits.size()) + " right";
  TANDEM_CHECK_OK(draw(digits, "Handwritten digits: " + counts, picture));
  std::printf("%s\naccuracy %.3f\npicture %s\n", counts.c_str(), accuracy, picture.c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: digits FOLDER PICTURE.svg\n");
    return 2;
  }
  const tandem::Status status = run(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "digits: %s\n", status.error().to_string().c_str());
  return status.ok() ? 0 : 1;
}
