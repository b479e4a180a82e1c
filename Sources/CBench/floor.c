// The least that a server must do: epoll, one receive per ready connection and turn, one send per connection and turn,
// and, with a log, one synced commit per group of requests, of one row or of a row per request. Single event thread, and
// a thread for commits.

#include "CBench.h"
#include "group_commit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RECEIVE_MAX = 256 * 1024,
    EVENTS_MAX = 1024,
    // Copies of the answer that lie next to each other, ready to be sent at once.
    REPLIES = 1024,
    HEADER_MAX = 14,
    SEQUENCE_DIGITS = 10,
};

typedef struct connection {
    int descriptor;
    bool is_open;           // the opening handshake is over
    bool is_blocked;        // the kernel takes no more at the moment
    uint8_t matched;        // characters of the blank line that ends the handshake
    uint8_t header_count;   // bytes of the header of the frame under way
    uint8_t header[HEADER_MAX];
    uint64_t skip;          // payload bytes of the frame under way that are still to come
    uint32_t index;
    uint32_t owed;          // frames of this turn to answer
    uint8_t *unsent;
    size_t unsent_start, unsent_end;
} connection;

typedef struct server {
    const bench_floor *floor;
    int epoll, listener;
    connection **connections;
    size_t count, capacity;
    uint8_t *input;
    uint8_t *replies;
    size_t reply_length;
    uint8_t *push;          // one frame for all
    size_t push_length;
    uint8_t *pushes;        // the frames of one turn
    size_t pushes_capacity;
    uint64_t sequence;
    committer *committer;
    group *filling;         // what this turn, or the next commit, answers
} server;

static size_t write_frame(uint8_t *frame, const char *fill, size_t size) {
    size_t header = size < 126 ? 2 : 4;
    frame[0] = 0x81;
    if (size < 126) {
        frame[1] = (uint8_t)size;
    } else {
        frame[1] = 126;
        frame[2] = (uint8_t)(size >> 8);
        frame[3] = (uint8_t)size;
    }
    memset(frame + header, *fill, size);
    return header + size;
}

// sending

static void watch(server *server, connection *connection, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(server->epoll, EPOLL_CTL_MOD, connection->descriptor, &event);
}

static void keep(server *server, connection *connection, const uint8_t *bytes, size_t count) {
    size_t waiting = connection->unsent_end - connection->unsent_start;
    uint8_t *grown = malloc(waiting + count);
    memcpy(grown, connection->unsent + connection->unsent_start, waiting);
    memcpy(grown + waiting, bytes, count);
    free(connection->unsent);
    connection->unsent = grown;
    connection->unsent_start = 0;
    connection->unsent_end = waiting + count;
    if (!connection->is_blocked) watch(server, connection, EPOLLIN | EPOLLOUT);
    connection->is_blocked = true;
}

static void send_bytes(server *server, connection *connection, const uint8_t *bytes, size_t count) {
    if (!connection->is_blocked) {
        ssize_t sent = send(connection->descriptor, bytes, count, MSG_NOSIGNAL);
        if (sent == (ssize_t)count) return;
        if (sent < 0 && errno != EAGAIN) return;  // the connection is gone; receiving tells
        if (sent < 0) sent = 0;
        bytes += sent;
        count -= (size_t)sent;
    }
    keep(server, connection, bytes, count);
}

static void send_unsent(server *server, connection *connection) {
    size_t count = connection->unsent_end - connection->unsent_start;
    ssize_t sent = send(connection->descriptor, connection->unsent + connection->unsent_start, count, MSG_NOSIGNAL);
    if (sent < 0) return;
    connection->unsent_start += (size_t)sent;
    if ((size_t)sent < count) return;
    free(connection->unsent);
    connection->unsent = NULL;
    connection->unsent_start = connection->unsent_end = 0;
    connection->is_blocked = false;
    watch(server, connection, EPOLLIN);
}

// One send for each listener: the frames of all changes of the turn, each with its number.
static void broadcast(server *server, uint32_t changes) {
    size_t total = changes * server->push_length;
    if (total > server->pushes_capacity) {
        server->pushes_capacity = total;
        server->pushes = realloc(server->pushes, total);
    }
    uint8_t *next = server->pushes;
    for (uint32_t change = 0; change < changes; change++, next += server->push_length) {
        memcpy(next, server->push, server->push_length);
        uint64_t number = 1000000000 + server->sequence++;
        uint8_t *digits = next + server->push_length - server->floor->push_tail;
        for (int digit = 0; digit < SEQUENCE_DIGITS; digit++, number /= 10) *--digits = (uint8_t)('0' + number % 10);
    }
    for (size_t index = 1; index < server->count; index++) {
        connection *listener = server->connections[index];
        if (listener != NULL && listener->is_open) send_bytes(server, listener, server->pushes, total);
    }
}

static void answer(server *server, const group *group) {
    if (group->changes > 0) broadcast(server, group->changes);
    for (size_t index = 0; index < group->debt_count; index++) {
        debt debt = group->debts[index];
        connection *debtor = server->connections[debt.connection];
        while (debtor != NULL && debt.frames > 0) {
            uint32_t count = debt.frames < REPLIES ? debt.frames : REPLIES;
            send_bytes(server, debtor, server->replies, count * server->reply_length);
            debt.frames -= count;
        }
    }
}

// receiving

static void close_connection(server *server, connection *connection) {
    close(connection->descriptor);
    server->connections[connection->index] = NULL;
    free(connection->unsent);
    free(connection);
}

// Bytes of a header that begins with these two: 2, 4 or 10, and a masking key.
static size_t header_size(const uint8_t *header) {
    size_t length = header[1] & 0x7F;
    return (length < 126 ? 2 : length == 126 ? 4 : 10) + (header[1] & 0x80 ? 4 : 0);
}

static uint64_t payload_size(const uint8_t *header) {
    uint64_t length = header[1] & 0x7F;
    if (length < 126) return length;
    size_t bytes = length == 126 ? 2 : 8;
    length = 0;
    for (size_t index = 0; index < bytes; index++) length = length << 8 | header[2 + index];
    return length;
}

// Takes a header, or what is there of it; returns the bytes taken.
static size_t read_header(connection *connection, const uint8_t *bytes, size_t count) {
    if (connection->header_count == 0 && count >= HEADER_MAX) {
        connection->skip = payload_size(bytes);
        return header_size(bytes);
    }
    connection->header[connection->header_count++] = *bytes;
    if (connection->header_count < 2 || connection->header_count < header_size(connection->header)) return 1;
    connection->skip = payload_size(connection->header);
    connection->header_count = 0;
    return 1;
}

// How many frames end within these bytes. Every frame has a payload. Each is a row of the group that the bytes are added
// to afterwards, if it has rows.
static uint32_t count_frames(connection *connection, const uint8_t *bytes, size_t count, group *rows) {
    const uint8_t *start = bytes;
    uint32_t frames = 0;
    while (count > 0) {
        size_t taken;
        if (connection->skip > 0) {
            taken = connection->skip < count ? (size_t)connection->skip : count;
            connection->skip -= taken;
            if (connection->skip == 0) {
                frames++;
                if (rows != NULL) group_end_row(rows, rows->byte_count + (size_t)(bytes - start) + taken);
            }
        } else {
            taken = read_header(connection, bytes, count);
        }
        bytes += taken;
        count -= taken;
    }
    return frames;
}

// Answers the opening handshake with what is ready, after its blank line. Clients send nothing behind it.
static void open_connection(server *server, connection *connection, const uint8_t *bytes, size_t count) {
    static const char end[] = "\r\n\r\n";
    static const char opening[] =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x02{}";
    for (size_t index = 0; index < count; index++) {
        connection->matched = bytes[index] == end[connection->matched] ? connection->matched + 1 : bytes[index] == '\r';
        if (connection->matched < sizeof end - 1) continue;
        connection->is_open = true;
        send_bytes(server, connection, (const uint8_t *)opening, sizeof opening - 1);
        return;
    }
}

static void receive(server *server, connection *connection) {
    ssize_t count = recv(connection->descriptor, server->input, RECEIVE_MAX, 0);
    if (count <= 0) {
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
        return close_connection(server, connection);
    }
    if (!connection->is_open) return open_connection(server, connection, server->input, (size_t)count);
    group *rows = server->floor->has_rows ? server->filling : NULL;
    uint32_t frames = count_frames(connection, server->input, (size_t)count, rows);
    if (server->committer != NULL) group_add_bytes(server->filling, server->input, (size_t)count);
    if (frames == 0) return;
    if (server->floor->push_size > 0 && connection->index == 0) server->filling->changes += frames;
    group_add_debt(server->filling, connection->index, frames);
}

static void accept_all(server *server) {
    for (;;) {
        int descriptor = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) return;
        if (server->count == server->capacity) {
            server->capacity = server->capacity == 0 ? 1024 : server->capacity * 2;
            server->connections = realloc(server->connections, server->capacity * sizeof *server->connections);
        }
        connection *accepted = calloc(1, sizeof *accepted);
        accepted->descriptor = descriptor;
        accepted->index = (uint32_t)server->count;
        server->connections[server->count++] = accepted;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = accepted};
        epoll_ctl(server->epoll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

// serving

static int start(server *server, const bench_floor *floor, uint16_t *port) {
    server->floor = floor;
    server->input = malloc(RECEIVE_MAX);
    server->filling = group_make();
    server->replies = malloc(REPLIES * (floor->reply_size + 4));
    for (int copy = 0; copy < REPLIES; copy++) {
        uint8_t *reply = server->replies + (size_t)copy * server->reply_length;
        server->reply_length = write_frame(reply, "r", floor->reply_size);
    }
    server->push = malloc(floor->push_size + 4);
    server->push_length = write_frame(server->push, "p", floor->push_size);

    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->epoll < 0 || server->listener < 0) return -errno;
    int yes = 1;
    setsockopt(server->listener, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(server->listener, (struct sockaddr *)&address, length) < 0) return -errno;
    if (listen(server->listener, 4096) < 0) return -errno;
    if (getsockname(server->listener, (struct sockaddr *)&address, &length) < 0) return -errno;
    *port = ntohs(address.sin_port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &event) < 0) return -errno;
    if (floor->log == NULL) return 0;
    server->committer = committer_start(floor->log);
    if (server->committer == NULL) return -EIO;
    event.data.ptr = server->committer;
    return epoll_ctl(server->epoll, EPOLL_CTL_ADD, committer_descriptor(server->committer), &event) < 0 ? -errno : 0;
}

// At the end of a turn: the next group goes to the disk before the one that is back from there is answered.
static void end_turn(server *server, group *committed) {
    if (server->committer == NULL) {
        answer(server, server->filling);
        group_clear(server->filling);
        return;
    }
    if (server->filling->debt_count > 0 && !committer_is_busy(server->committer)) {
        group *full = server->filling;
        server->filling = committer_take_spare(server->committer);
        committer_commit(server->committer, full);
    }
    if (committed == NULL) return;
    answer(server, committed);
    group_clear(committed);
    committer_give_spare(server->committer, committed);
}

int bench_floor_run(const bench_floor *floor, void (*ready)(uint16_t port)) {
    server server = {0};
    uint16_t port = 0;
    int result = start(&server, floor, &port);
    if (result < 0) return result;
    ready(port);
    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        int count = epoll_wait(server.epoll, events, EVENTS_MAX, -1);
        if (count < 0 && errno != EINTR) return -errno;
        group *committed = NULL;
        for (int index = 0; index < count; index++) {
            void *source = events[index].data.ptr;
            if (source == NULL) {
                accept_all(&server);
            } else if (source == server.committer) {
                committed = committer_finished(server.committer);
            } else {
                connection *connection = source;
                if (events[index].events & EPOLLOUT) send_unsent(&server, connection);
                if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(&server, connection);
            }
        }
        end_turn(&server, committed);
    }
}
