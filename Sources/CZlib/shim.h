#pragma once
#include <zlib.h>

/* The initialisers are macros, which Swift does not import. Negative window bits mean raw deflate: no header, no
   checksum. */

static inline int czlib_deflate_init_raw(z_stream *stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

/* With the header and the checksum of gzip. */
static inline int czlib_deflate_init_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
}

static inline int czlib_inflate_init_raw(z_stream *stream, int window_bits) {
    return inflateInit2(stream, -window_bits);
}
