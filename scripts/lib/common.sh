# shellcheck shell=bash
# Shared by the scripts: sourced, never run.

export LC_ALL=C.UTF-8  # a point in numbers, whatever the user's language

step() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Prints the comment block at the top of the calling script.
usage() { sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$0"; }
