#pragma once
// The distribution's libcurl, loaded upon its first use: with Kerberos, LDAP and others it brings in 26 libraries,
// which most runs of the program do not need. Variadic functions cannot be called from Swift, so there is one function
// for each kind of option here. All but the first function are for after a successful load.

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

// NULL, or why the library cannot be used: a text for this thread, until its next call. A later call tries again.
const char *hearth_curl_load(void);

// one transfer

CURL *hearth_curl_easy_init(void);
void hearth_curl_easy_cleanup(CURL *easy);
// Waits for the end of the transfer.
CURLcode hearth_curl_easy_perform(CURL *easy);
const char *hearth_curl_text(CURLcode code);

// Options. Texts and bodies are copied; lists and contexts must stay until the cleanup.
CURLcode hearth_curl_set_number(CURL *easy, CURLoption option, long value);
CURLcode hearth_curl_set_text(CURL *easy, CURLoption option, const char *text);
CURLcode hearth_curl_set_body(CURL *easy, const void *bytes, size_t count);
CURLcode hearth_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *list);
// At least CURL_ERROR_SIZE bytes, for a text about a failure; they must stay until the cleanup.
CURLcode hearth_curl_set_error_buffer(CURL *easy, char *buffer);
CURLcode hearth_curl_set_write(CURL *easy, curl_write_callback take, void *context);
CURLcode hearth_curl_set_header(CURL *easy, curl_write_callback take, void *context);
CURLcode hearth_curl_set_read(CURL *easy, curl_read_callback fill, void *context);
CURLcode hearth_curl_set_debug(CURL *easy, curl_debug_callback note, void *context);
CURLcode hearth_curl_set_open_socket(CURL *easy, curl_opensocket_callback open, void *context);

// Adds a copy of the text. NULL if there is no memory; the list is then as it was.
struct curl_slist *hearth_curl_list_append(struct curl_slist *list, const char *text);
void hearth_curl_list_free(struct curl_slist *list);

// The address that is about to be dialled.
const struct sockaddr *hearth_curl_address(const struct curl_sockaddr *address);
// A socket for it that programs which this one starts do not inherit.
curl_socket_t hearth_curl_socket(const struct curl_sockaddr *address);

// many transfers at a time

CURLM *hearth_curl_multi_init(void);
void hearth_curl_multi_cleanup(CURLM *multi);
CURLMcode hearth_curl_multi_add(CURLM *multi, CURL *easy);
void hearth_curl_multi_remove(CURLM *multi, CURL *easy);
CURLMcode hearth_curl_multi_perform(CURLM *multi);
// Waits for the network, a time of a transfer, or the other function, which any thread may call.
CURLMcode hearth_curl_multi_wait(CURLM *multi);
CURLMcode hearth_curl_multi_wake(CURLM *multi);
// A transfer that has ended, with its outcome, or NULL.
CURL *hearth_curl_multi_next_ended(CURLM *multi, CURLcode *outcome);
