#!/usr/bin/env bash
# cross_toolchain.sh DIRECTORY: a Rust with a standard library for other processors, from Debian's packages of one, unpacked
# into DIRECTORY and not installed: `rustc-web` would take the place of the system's own. DIRECTORY/rustc starts it.
#
# Why: the project's own toolchain has std for its own processor only, and std of one version of rustc is of no use to another.
# Debian has rustc, std for arm64 and the sources of std (for -Zbuild-std) of one version, newer than the project needs.
# apt keeps its lists and downloads in DIRECTORY too, so nothing here needs to be root or changes the system.
set -euo pipefail

folder=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
oldest=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$here/../Cargo.toml")

say() { printf 'cross toolchain: %s\n' "$1" >&2; }

[ -x "$folder/rustc" ] && exit
command -v apt-get >/dev/null || { say 'needs Debian: there is no apt-get'; exit 3; }

rm -rf "$folder"
mkdir -p "$folder"/{apt/lists/partial,apt/cache/archives/partial,debs,root}
folder=$(cd "$folder" && pwd)
touch "$folder/apt/status"
cat >"$folder/apt/apt.conf" <<CONFIG
APT::Architecture "amd64";
APT::Architectures { "amd64"; "arm64"; };
APT::Sandbox::User "$(id -un)";
Dir::State::lists "$folder/apt/lists";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt/cache";
CONFIG
export APT_CONFIG=$folder/apt/apt.conf

apt-get update -qq
version=$(apt-cache policy rustc-web | sed -n 's/^ *Candidate: *//p')
dpkg --compare-versions "${version:-0}" ge "$oldest" ||
    { say "Debian's rustc-web is ${version:-not there}, and $oldest is needed"; exit 3; }
# its libraries by name of the version: std that the compiler itself is linked with, and its LLVM
release=${version%.*}
llvm=$(apt-cache depends "libstd-rust-web-$release" | sed -n 's/^ *Depends: *\(libllvm[0-9]*\)$/\1/p')
(cd "$folder/debs" && apt-get download -qq "rustc-web=$version" "libstd-rust-web-$release=$version" "$llvm" \
    "libstd-rust-web-dev=$version" "libstd-rust-web-dev:arm64=$version" "rust-web-src=$version")
for package in "$folder"/debs/*.deb; do
    dpkg -x "$package" "$folder/root"
done
rm -rf "$folder/debs"

cat >"$folder/rustc.new" <<SCRIPT
#!/bin/sh
export LD_LIBRARY_PATH="$folder/root/usr/lib/x86_64-linux-gnu"
exec "$folder/root/usr/bin/rustc" "\$@"
SCRIPT
chmod +x "$folder/rustc.new"
"$folder/rustc.new" --version
mv "$folder/rustc.new" "$folder/rustc"
