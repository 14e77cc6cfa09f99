#!/usr/bin/env bash
# Makes sure that a Redis or Valkey server binary is there for the tests, which start private servers of their own
# on free loopback ports. Never calls sudo: where a password would be needed it says what to type instead.
set -euo pipefail

have_server() {
  local name
  for name in redis-server valkey-server; do
    if command -v "$name" >/dev/null 2>&1; then
      echo "server for the tests: $(command -v "$name") ($("$name" --version | cut -d' ' -f1-3))"
      return 0
    fi
  done
  return 1
}

if have_server; then
  exit 0
fi

if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" -eq 0 ]; then
    echo "no redis-server or valkey-server on the PATH: installing redis-server with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends redis-server
    have_server && exit 0
  else
    cat >&2 <<'MSG'
no redis-server or valkey-server on the PATH, and this is not root. Run this once, then try again:

    sudo apt-get install redis-server

(Debian's package also starts a server on port 6379. The tests do not use it; to turn it off:
    sudo systemctl disable --now redis-server)
MSG
    exit 1
  fi
elif command -v brew >/dev/null 2>&1; then
  echo "no redis-server or valkey-server on the PATH: installing redis with brew"
  brew install redis
  have_server && exit 0
fi

cat >&2 <<'MSG'
no redis-server or valkey-server on the PATH. Install one of them, then try again:

    Debian, Ubuntu    sudo apt-get install redis-server
    Fedora            sudo dnf install valkey
    Alpine            sudo apk add redis
    Arch              sudo pacman -S valkey
    macOS             brew install redis
    from source       https://valkey.io/download/ (put valkey-server on the PATH)
MSG
exit 1
