#!/usr/bin/env bash
# Brings Debian packages to a machine that cannot fetch any, such as a compute node: fetches them elsewhere, unpacks them
# there.
# Usage: ci/offline.sh save DIR      downloads what the build and a run need into DIR (about 15 MB)
#        ci/offline.sh unpack DIR    unpacks DIR/*.deb into DIR/root and prints the environment that finds it:
#                                    eval "$(ci/offline.sh unpack DIR)"
# Nothing is installed: the system stays as it is. Programs use the machine's own C library, which must not be older than
# the one that the packages were built for. Exit: 0; 2 usage; 4 no apt-get or dpkg, or a package cannot be fetched.
set -u

packages=(
    openmpi-bin openmpi-common libopenmpi3 libopenmpi-dev
    libpmix2 libevent-core-2.1-7 libevent-pthreads-2.1-7 libevent-dev libltdl7 libmunge2
    libucx0 libfabric1 libpsm-infinipath1 libpsm2-2 librdmacm1 libibverbs1 libnl-3-200 libnl-route-3-200
    libhwloc15 libhwloc-dev libnuma1 libudev1
    libcjson1 libcjson-dev libxxhash0 libxxhash-dev libpng16-16 libpng-dev libjpeg62-turbo libjpeg62-turbo-dev libjpeg-dev zlib1g zlib1g-dev
    libsqlite3-0 libsqlite3-dev libcmocka0 libcmocka-dev
    libsentencepiece0 libsentencepiece-dev libutf8proc2 libutf8proc-dev libpcre2-8-0 libpcre2-dev
    pkgconf pkgconf-bin libpkgconf3
)

fail() {
    echo "ci/offline.sh: $2" >&2
    exit "$1"
}

save() {
    command -v apt-get >/dev/null || fail 4 "no apt-get: packages are fetched on a Debian machine"
    mkdir -p "$1" || fail 4 "cannot write to $1"
    (cd "$1" && apt-get download "${packages[@]}") || fail 4 "not every package could be had (apt-get update?)"
}

unpack() {
    local root triple deb
    command -v dpkg-deb >/dev/null || fail 4 "no dpkg-deb"
    mkdir -p "$1/root" || fail 4 "cannot write to $1"
    root=$(cd "$1/root" && pwd)
    for deb in "$1"/*.deb; do
        [ -e "$deb" ] || fail 4 "no packages in $1 (ci/offline.sh save $1)"
        dpkg-deb -x "$deb" "$root" || fail 4 "cannot unpack $deb"
    done
    # Open MPI looks for its parts in the folder that it was built for, unless it is told another.
    triple=$(basename "$(dirname "$(find "$root/usr/lib" -maxdepth 2 -name 'libmpi.so*' | head -n 1)")")
    # Makes the links that the packages' own scripts would have made.
    ln -sf mpicc.openmpi "$root/usr/bin/mpicc"
    ln -sf orterun "$root/usr/bin/mpirun"
    cat <<END
export PATH='$root/usr/bin':"\$PATH"
export PMIX_MCA_pcompress_base_silence_warning=1 PMIX_MCA_mca_base_component_show_load_errors=0
export OPAL_PREFIX='$root/usr' OPAL_LIBDIR='$root/usr/lib/$triple'
export OPAL_PKGLIBDIR='$root/usr/lib/$triple/openmpi/lib/openmpi3' PMIX_INSTALL_PREFIX='$root/usr/lib/$triple/pmix2'
export LD_LIBRARY_PATH='$root/usr/lib/$triple:$root/lib/$triple:$root/usr/lib/$triple/openmpi/lib'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export LIBRARY_PATH='$root/usr/lib/$triple:$root/usr/lib/$triple/openmpi/lib:$root/lib/$triple'\${LIBRARY_PATH:+:\$LIBRARY_PATH}
export PKG_CONFIG_PATH='$root/usr/lib/$triple/pkgconfig'\${PKG_CONFIG_PATH:+:\$PKG_CONFIG_PATH}
export CPATH='$root/usr/include:$root/usr/include/$triple:$root/usr/lib/$triple/openmpi/include'\${CPATH:+:\$CPATH}
END
}

[ $# -eq 2 ] || fail 2 "usage: ci/offline.sh save|unpack DIR"
case $1 in
save) save "$2" ;;
unpack) unpack "$2" ;;
*) fail 2 "usage: ci/offline.sh save|unpack DIR" ;;
esac
