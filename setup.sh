#!/bin/sh
# Installs what rbdgen needs on Debian or Ubuntu, into .venv and with apt-get, then runs `make demo` or `make test`.
# Only what is missing is installed; a second call takes no time.
set -eu
cd "$(dirname "$0")"

fail() {
    echo "setup.sh: $1" >&2
    exit 2
}

case "${1:-}" in
    demo) extra=sim ;;
    test) extra=dev ;;
    *) fail "usage: sh setup.sh demo|test" ;;
esac

# Debian packages, one per thing that is missing: programs first, then Python's parts
packages=
need() {
    packages="$packages $1"
}
has() {
    command -v "$1" >/dev/null 2>&1
}
has make || need make
has g++ || need g++
has perl || need perl
has iverilog || need iverilog
# with which Verilator's waveforms are compressed
[ -e /usr/include/lz4.h ] || need liblz4-dev
[ -e /usr/include/zlib.h ] || need zlib1g-dev
if has python3; then
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed, and python3 is $(python3 -c 'import platform; print(platform.python_version())')"
    version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    python3 -c 'import ensurepip, venv' 2>/dev/null || need python3-venv
    # cocotb runs Python inside the simulator, from its shared library
    python3 -c 'import ctypes, sysconfig; ctypes.CDLL(sysconfig.get_config_var("INSTSONAME"))' 2>/dev/null ||
        need "libpython$version"
else
    need python3
    need python3-venv
    need libpython3-dev
fi

if [ -n "$packages" ]; then
    root=
    if [ "$(id -u)" -ne 0 ]; then
        has sudo || fail "please install, as root:$packages"
        root=sudo
    fi
    has apt-get || fail "please install, in your system's own way:$packages"
    echo "setup.sh: installing$packages"
    # shellcheck disable=SC2086 # each word is a package
    { $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $packages; } >/dev/null ||
        fail "apt-get could not install$packages"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed, and python3 is $(python3 -c 'import platform; print(platform.python_version())')"
fi

# A browser, for the tests of the HTML page; they are skipped where there is none, so its absence stops nobody
if [ "$1" = test ] && ! has chromium-headless-shell && ! has chromium && has apt-get && [ "$(id -u)" -eq 0 ]; then
    echo "setup.sh: installing chromium-headless-shell"
    { apt-get update -qq && env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core; } >/dev/null 2>&1 ||
        echo "setup.sh: no chromium-headless-shell to be had; tests of the HTML page are skipped"
fi

# A compiler for soft cores in simulation, likewise
if [ "$1" = test ] && ! has riscv64-unknown-elf-gcc && has apt-get && [ "$(id -u)" -eq 0 ]; then
    echo "setup.sh: installing gcc-riscv64-unknown-elf"
    { apt-get update -qq && env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends gcc-riscv64-unknown-elf; } >/dev/null 2>&1 ||
        echo "setup.sh: no gcc-riscv64-unknown-elf to be had; tests of firmware are skipped"
fi

# Python packages, unless the same ones are there
stamp=.venv/rbdgen-$extra
wanted=$(cksum <pyproject.toml)
if ! .venv/bin/python -c '' 2>/dev/null; then
    python3 -m venv --clear .venv || fail "python3 -m venv failed"
fi
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    echo "setup.sh: installing Python packages into .venv"
    compile=--compile
    # most files of packages for tests are never imported; Python compiles those that are
    [ "$1" != test ] || compile=--no-compile
    .venv/bin/python -m pip install --quiet --disable-pip-version-check $compile -e ".[$extra]" || fail "pip install failed"
    echo "$wanted" >"$stamp"
fi

exec make --no-print-directory "$1"
