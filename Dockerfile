# Dockerfile: PostgreSQL with streambloom, as a container.
#
#   docker build -t streambloom .                              # --build-arg PG_MAJOR=18 for another version, 15 to 19
#   docker run -e POSTGRES_PASSWORD=... streambloom -c session_preload_libraries=streambloom
#
# scripts/make-release builds it with buildah and starts a server in it. Where the official image could not be had, a Debian with its
# own packages of PostgreSQL 17 took its place, so what only the official image has, its entry point, was not run.

ARG PG_MAJOR=17

FROM postgres:${PG_MAJOR} AS build
ARG PG_MAJOR=17
RUN apt-get update && apt-get install -y --no-install-recommends g++ make libxxhash-dev "postgresql-server-dev-${PG_MAJOR}"
COPY . /src
WORKDIR /src
ENV PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config
RUN make with_llvm=no -j"$(nproc)" && make with_llvm=no install DESTDIR=/installed

FROM postgres:${PG_MAJOR}
COPY --from=build /installed /
# A new container has the extension in the database that POSTGRES_DB names. In others, use CREATE EXTENSION.
RUN echo 'CREATE EXTENSION streambloom' >/docker-entrypoint-initdb.d/10-streambloom.sql
