#include "CCurl.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

#define FUNCTIONS(F)                                                                              \
    F(global_init) F(version_info)                                                                \
    F(easy_init) F(easy_cleanup) F(easy_perform) F(easy_setopt) F(easy_strerror)                  \
    F(slist_append) F(slist_free_all)                                                             \
    F(multi_init) F(multi_cleanup) F(multi_add_handle) F(multi_remove_handle) F(multi_perform)    \
    F(multi_poll) F(multi_wakeup) F(multi_info_read)

static struct {
#define MEMBER(name) __typeof__(curl_##name) *name;
    FUNCTIONS(MEMBER)
} curl;

static _Thread_local char problem[256];

// 7.87 is the first version in which a look-up of a name that hangs does not hold up the end of its transfer.
#define VERSION_MIN 0x075700

static void load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(problem, sizeof problem, "libcurl cannot be loaded: %s", reason != NULL ? reason : "?");
        return;
    }
#define FIND(name)                                                                                \
    curl.name = (__typeof__(curl.name))dlsym(library, "curl_" #name);                             \
    if (curl.name == NULL) {                                                                      \
        snprintf(problem, sizeof problem, "libcurl has no curl_" #name);                          \
        return;                                                                                   \
    }
    FUNCTIONS(FIND)
    const curl_version_info_data *info = curl.version_info(CURLVERSION_NOW);
    if (info->version_num < VERSION_MIN) {
        snprintf(problem, sizeof problem, "libcurl %s is too old: 7.87 is needed", info->version);
    } else if (!(info->features & CURL_VERSION_ASYNCHDNS)) {
        snprintf(problem, sizeof problem, "libcurl %s was built without look-ups in the background", info->version);
    } else if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        snprintf(problem, sizeof problem, "libcurl does not start");
    }
}

const char *hearth_curl_load(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_loaded;
    pthread_mutex_lock(&lock);
    problem[0] = 0;
    if (!is_loaded) load();
    is_loaded = problem[0] == 0;
    pthread_mutex_unlock(&lock);
    return problem[0] != 0 ? problem : NULL;
}

CURL *hearth_curl_easy_init(void) { return curl.easy_init(); }

void hearth_curl_easy_cleanup(CURL *easy) { curl.easy_cleanup(easy); }

CURLcode hearth_curl_easy_perform(CURL *easy) { return curl.easy_perform(easy); }

const char *hearth_curl_text(CURLcode code) { return curl.easy_strerror(code); }

CURLcode hearth_curl_set_number(CURL *easy, CURLoption option, long value) {
    return curl.easy_setopt(easy, option, value);
}

CURLcode hearth_curl_set_text(CURL *easy, CURLoption option, const char *text) {
    return curl.easy_setopt(easy, option, text);
}

CURLcode hearth_curl_set_body(CURL *easy, const void *bytes, size_t count) {
    CURLcode code = curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    // Not NULL, which would leave the body to another callback.
    return code != CURLE_OK ? code : curl.easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes != NULL ? bytes : "");
}

CURLcode hearth_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
    return curl.easy_setopt(easy, option, list);
}

CURLcode hearth_curl_set_error_buffer(CURL *easy, char *buffer) {
    return curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}

#define SET_CALLBACK(name, type, FUNCTION, DATA)                                                  \
    CURLcode hearth_curl_set_##name(CURL *easy, type function, void *context) {                   \
        CURLcode code = curl.easy_setopt(easy, FUNCTION, function);                               \
        return code != CURLE_OK ? code : curl.easy_setopt(easy, DATA, context);                   \
    }
SET_CALLBACK(write, curl_write_callback, CURLOPT_WRITEFUNCTION, CURLOPT_WRITEDATA)
SET_CALLBACK(header, curl_write_callback, CURLOPT_HEADERFUNCTION, CURLOPT_HEADERDATA)
SET_CALLBACK(read, curl_read_callback, CURLOPT_READFUNCTION, CURLOPT_READDATA)
SET_CALLBACK(debug, curl_debug_callback, CURLOPT_DEBUGFUNCTION, CURLOPT_DEBUGDATA)
SET_CALLBACK(open_socket, curl_opensocket_callback, CURLOPT_OPENSOCKETFUNCTION, CURLOPT_OPENSOCKETDATA)

struct curl_slist *hearth_curl_list_append(struct curl_slist *list, const char *text) {
    return curl.slist_append(list, text);
}

void hearth_curl_list_free(struct curl_slist *list) { curl.slist_free_all(list); }

const struct sockaddr *hearth_curl_address(const struct curl_sockaddr *address) { return &address->addr; }

curl_socket_t hearth_curl_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURLM *hearth_curl_multi_init(void) { return curl.multi_init(); }

void hearth_curl_multi_cleanup(CURLM *multi) { curl.multi_cleanup(multi); }

CURLMcode hearth_curl_multi_add(CURLM *multi, CURL *easy) { return curl.multi_add_handle(multi, easy); }

void hearth_curl_multi_remove(CURLM *multi, CURL *easy) { curl.multi_remove_handle(multi, easy); }

CURLMcode hearth_curl_multi_perform(CURLM *multi) {
    int running = 0;
    return curl.multi_perform(multi, &running);
}

CURLMcode hearth_curl_multi_wait(CURLM *multi) { return curl.multi_poll(multi, NULL, 0, INT_MAX, NULL); }

CURLMcode hearth_curl_multi_wake(CURLM *multi) { return curl.multi_wakeup(multi); }

CURL *hearth_curl_multi_next_ended(CURLM *multi, CURLcode *outcome) {
    int left = 0;
    const CURLMsg *message;
    while ((message = curl.multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *outcome = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
