#pragma once
// OpenSSL, with functions for what its headers offer only as macros that Swift cannot import.

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// TLS 1.2 and 1.3 alone, no compression, no renegotiation, no session tickets, whose key would have to be replaced again
// and again to keep the secrecy of past connections; an end without close_notify is an end. Idle connections own
// no record buffers; a write may be done in parts and repeated from other memory; a read takes what the socket has.
static inline int openssl_configure(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    // With TLS 1.3 there would still be tickets that name a session in a cache.
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_mode(
        context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

// The name that the client asks for (SNI, RFC 6066 section 3).
static inline int openssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

static inline int openssl_set_max_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_max_proto_version(context, version);
}

static inline int openssl_set_min_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

// Whether an error says that a private key and a certificate do not belong together.
static inline int openssl_is_key_mismatch(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH;
}
