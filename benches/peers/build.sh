#!/bin/sh
# Builds the drivers of the peer against Debian's packages; binaries go to target/peers.
set -e
cd "$(dirname "$0")/../.."
mkdir -p target/peers
include="-I/usr/include/siconos -I/usr/include/siconos/kernel -I/usr/include/siconos/numerics"
for name in siconos_ball siconos_crank; do
    g++ -O2 $include "benches/peers/$name.cpp" -o "target/peers/$name" -lsiconos_kernel -lsiconos_numerics
done
