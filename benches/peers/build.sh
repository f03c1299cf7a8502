#!/bin/sh
# Builds the drivers of the peer against Debian's packages; binaries go to target/peers.
set -e
cd "$(dirname "$0")/../.."
mkdir -p target/peers
include="-I/usr/include/siconos -I/usr/include/siconos/kernel -I/usr/include/siconos/numerics"
for name in siconos_ball siconos_crank siconos_bar; do
    g++ -O2 $include "benches/peers/$name.cpp" -o "target/peers/$name" -lsiconos_kernel -lsiconos_numerics
done
gcc -O2 $include -I/usr/include/siconos/externals -I/usr/include/suitesparse benches/peers/siconos_numerics.c \
    -o target/peers/siconos_numerics -lsiconos_numerics -lsiconos_externals
