#pragma once
#include <stddef.h>

/* The files of the console, which are in the folder `assets`. */
struct console_asset {
    /* As in URLs below `/console/`. */
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

const struct console_asset *console_asset_list(void);
size_t console_asset_count(void);
