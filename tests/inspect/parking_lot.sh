#!/bin/sh
# Hangs of parking_lot, the locks that many Rust programs have, where its sources are installed.
#
#     parking_lot.sh GORDIAN SOURCE [REGISTRY]
#
# REGISTRY: the folder of sources (Debian's librust-parking-lot-dev). Exit status 77: it is not here.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
here=$(cd "$(dirname "$0")" && pwd)
gordian=$(absolute "$1")
source=$(absolute "$2")
registry=${3:-/usr/share/cargo/registry}
need cargo rustc
if ! ls -d "$registry"/parking_lot-[0-9]* >/dev/null 2>&1; then
    echo 'skipped: parking_lot is not installed'
    exit 77
fi
enter_scratch

mkdir .cargo
cat >.cargo/config.toml <<END
[source.crates-io]
replace-with = "installed"
[source.installed]
directory = "$registry"
[net]
offline = true
END
cat >Cargo.toml <<END
[package]
name = "hung_parking"
version = "0.1.0"
edition = "2021"
[dependencies]
parking_lot = "0.12"
[[bin]]
name = "hung_parking"
path = "$source"
[profile.release]
debug = true
END
for profile in dev release; do
    cargo build --quiet --offline --profile $profile >built 2>&1
    check "cargo build, $profile: $(tail -n 5 built)" test $? -eq 0
done
[ "$failed" -eq 0 ] || finish
for folder in debug release; do
    sh "$here/hung.sh" "$gordian" target/$folder/hung_parking
    is $? 0 "hangs, $folder"
done
finish
