# shellcheck shell=bash
# Installs what a build needs from the distribution: sourced, never run.

# `a|b` is there if either is, and `a` is what gets installed.
# shellcheck disable=SC2034  # used by the scripts that source this
{
  build_packages=(
    g++ cmake ninja-build ccache python3 flatbuffers-compiler libflatbuffers-dev libfmt-dev libspdlog-dev
    libcli11-dev nlohmann-json3-dev libopenblas-serial-dev libssl-dev libgtest-dev libgmock-dev libbenchmark-dev)
  # LeakSanitizer's suppressions go by function names, glibc's too: that takes a symbolizer and glibc's symbols.
  sanitizer_packages=(clang 'libclang-rt-dev|libclang-rt-14-dev' llvm libc6-dbg)
  hip_packages=(libamdhip64-dev)  # for CUDA there is no free package: CMake looks for a toolkit and says how to get one
  lint_packages=(clang-format clang-tidy)
}

# Whether dpkg has finished installing package $1.
package_is_installed() {
  dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# Installs those of the packages $@ that are missing. Needs root, or sudo, only if one is.
require_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "   not a Debian or Ubuntu system: trusting that these are there: $*"
    return
  fi
  local missing=() word name
  for word in "$@"; do
    for name in ${word//|/ }; do
      package_is_installed "$name" && continue 2
    done
    missing+=("${word%%|*}")
  done
  if ((${#missing[@]} == 0)); then
    echo "   all $# packages are installed"
    return
  fi

  local apt=(apt-get)
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      printf 'packages are missing, and there is no sudo; as root, run:\n' >&2
      printf '  apt-get update && apt-get install --no-install-recommends %s\n' "${missing[*]}" >&2
      exit 2
    fi
    apt=(sudo --preserve-env=DEBIAN_FRONTEND apt-get)
  fi
  echo "   installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${apt[@]}" update -qq </dev/null
  "${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}" </dev/null
}
