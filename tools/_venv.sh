# shellcheck shell=bash
# Sourced by the commands beside it: their Python, their virtual environment, and a home of their own.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit

# The caller's settings must change nothing: not the database, not what Python imports, and not the
# repository that git works on (a hook or a rebase that runs us sets GIT_DIR).
# shellcheck disable=SC2086 # names, to be split
unset ${!REMIT_@} ${!PYTHON@} ${!GIT_@}

# A name on PATH may be a stub, too old, or Debian's Python without venv: only running it tells.
find_python() {
  local name
  for name in python3.11 python3 python3.12 python3.13 python3.14; do
    if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  echo "$0: needs Python 3.11 or newer with its venv module on PATH" \
    "(Debian, Ubuntu: apt-get install python3 python3-venv)" >&2
  return 1
}

# use_venv FOLDER EXTRA: make the environment unless it is there; its programs come first on PATH.
# File 9 is its lock: shared while this shell runs, so that no other run rebuilds it meanwhile.
use_venv() {
  local python
  if ! command -v git >/dev/null; then
    echo "$0: needs git on PATH" >&2
    return 1
  fi
  python=$(find_python)
  exec 9>"$root/$1.lock"
  "$python" -I "$root/tools/_venv.py" "$root/$1" "$2" --lock 9
  PATH=$root/$1/bin:$PATH
}

# own_home: an empty one, for remit and for git (a user's git may sign commits or run hooks).
own_home() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/remit.XXXXXX")
  # shellcheck disable=SC2086
  unset ${!XDG_@}
  export HOME=$scratch REMIT_HOME=$scratch/remit-home
}
