# The image has the program, the certificates of public authorities and an empty data directory. It has no shell and no
# package manager, and it runs as a user without rights.
#
#   docker build -t penstock .
#   docker run --rm -p 8080:8080 -v penstock:/var/lib/penstock penstock
#
# Without arguments it starts the development server with a simulated upstream. For production, mount a configuration and
# run: penstock serve --config /etc/penstock/penstock.yaml

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# GOFLAGS is cleared as in scripts/release. The version control data of a checkout is in .git, which .dockerignore keeps.
RUN CGO_ENABLED=0 GOFLAGS= GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -buildvcs=auto -trimpath -ldflags='-s -w' -o /out/penstock ./cmd/penstock \
    && mkdir -m 0700 /out/data

FROM scratch
LABEL org.opencontainers.image.title="Penstock" \
      org.opencontainers.image.description="One binary between your applications and every model they call" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/penstock /penstock
COPY --from=build --chown=65532:65532 /out/data /var/lib/penstock
# Loopback of a container is out of reach for its callers. admin_listen stays on loopback unless the configuration opens it.
ENV PENSTOCK_DATA=/var/lib/penstock \
    PENSTOCK_LISTEN=0.0.0.0:8080
USER 65532:65532
WORKDIR /var/lib/penstock
VOLUME /var/lib/penstock
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/penstock", "health"]
# SIGTERM lets running work finish within shutdown_grace (30s): stop the container with a longer time, such as
# docker stop --time 45.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/penstock"]
CMD ["dev"]
