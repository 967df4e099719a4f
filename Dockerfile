# The seven servers as one image, for Docker, Podman and Buildah.
# docs/howto/containers.md says how to run it; compose.yaml runs three of them
# behind a balancer.
#
#     docker build --tag zerohttpd .
#     docker run --rm --read-only --publish 127.0.0.1:8000:8000 zerohttpd epoll --redis none

ARG BASE=debian:bookworm-slim

# ------------------------------------------------- build: compiler and headers
FROM ${BASE} AS build
WORKDIR /src
# What the build needs is listed in scripts/packages.txt. It comes before the sources,
# so that a change in the C does not install the compiler again.
RUN apt-get update && apt-get install -y --no-install-recommends make
COPY Makefile ./
COPY scripts/deps.sh scripts/install.sh scripts/packages.txt scripts/minimum.txt scripts/
RUN make build/deps/build INSTALL=system
COPY . .
# Without -g: debugging information is half of each executable. hiredis is the only
# library that the base does not have; the link under its full version is not needed.
RUN make install CFLAGS=-O2 DESTDIR=/image && \
    for library in $(ldd /image/usr/local/bin/zerohttpd-epoll | awk '/hiredis/ { print $3 }'); do \
        install -D "$library" "/image/usr${library#/usr}" || exit; \
    done && \
    install scripts/healthy.sh /image/usr/local/bin/healthy

# ----------------------- tools: what compose.yaml starts around the servers
# Redis, HAProxy and wrk in the versions of the same Debian release, which
# `make compare` uses too.
FROM ${BASE} AS tools
RUN apt-get update && \
    apt-get install -y --no-install-recommends redis-server redis-tools haproxy wrk && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
COPY scripts/healthy.sh /usr/local/bin/healthy
USER 65532:65532
WORKDIR /tmp

# -------------------------------------------------------- the image: the seven
FROM ${BASE}
COPY --from=build /image/ /
LABEL org.opencontainers.image.title="zerohttpd" \
      org.opencontainers.image.description="One web server, seven ways to wait" \
      org.opencontainers.image.version="2.0" \
      org.opencontainers.image.licenses="MIT"
# A number, because Kubernetes cannot tell whether a name is root. No file belongs
# to this user, so a server that is taken over can change none.
USER 65532:65532
# The servers look for public/ and templates/ in the folder they are started in.
WORKDIR /usr/local/share/zerohttpd
EXPOSE 8000
# The servers finish what they have begun and exit with 0.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["healthy"]
# The first argument says which server, the others are its options. `exec` makes the
# server process 1, which gets the signals. By default the servers listen on
# 127.0.0.1, which only the container itself can reach. A later --host wins.
ENTRYPOINT ["sh", "-c", "exec zerohttpd-\"$0\" --host 0.0.0.0 \"$@\""]
CMD ["epoll"]
