# shellcheck shell=bash
# Shared by the scripts that measure: sourced, never run, after common.sh.

failures=0

# suite PROGRAM OUT ARGUMENT...: one program of the suite; its tables in OUT.
suite() {
  local program=$1 out=$2
  shift 2
  step "suite"
  "$program" "$@" --check --json "$out/suite.json" --markdown "$out/suite.md" || failures=$((failures + 1))
}

# recorded BINARIES OUT DEVICE RUNS FOLDER...: `tandem bench` of recorded programs, if that build has it.
recorded() {
  local tandem=$1/tandem out=$2 device=$3 runs=$4 few folder name results=()
  shift 4
  if ! "$tandem" --help 2>/dev/null | grep -q '^ *bench '; then
    note "no command 'tandem bench' in this build: no recorded programs"
    return
  fi
  step "recorded programs"
  for folder in "$@"; do
    name=$(basename "$folder")
    few=$runs
    [[ $name != heavy ]] || few=$(((runs + 9) / 10))  # 10 ms a run
    note "$name"
    "$tandem" bench --case "$folder" --device "$device" --runs "$few" --svg "$out/$name.svg" --json >"$out/$name.json" ||
      { failures=$((failures + 1)); note "FAILED: $name"; }
    results+=("$out/$name.json")
  done
  scripts/lib/bench_table.py "${results[@]}" | tee "$out/recorded.md"
}

# The last lines, and the exit status.
finish() {
  printf '\n%s: results in %s; %s\n' "$(basename "$0")" "$1" "$([[ $failures == 0 ]] && echo 'all good' || echo "$failures failed")"
  exit $((failures != 0))
}
