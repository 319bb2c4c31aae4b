# rbdgen with what simulates, reports and builds bitstreams, for systems on which it is not installed (docs/installing.md).
FROM debian:bookworm-slim

# a compiler for Verilator's models, and what compresses its waveforms; git says which version this is
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        g++ git iverilog liblz4-dev libpython3.11 make perl python3 python3-venv zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*

COPY . /opt/rbdgen
RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir "/opt/rbdgen[sim,report,build,serial]"

ENV PATH=/opt/venv/bin:$PATH \
    RBDGEN_CACHE=/tmp/rbdgen
WORKDIR /here
ENTRYPOINT ["rbdgen"]
CMD ["--help"]
