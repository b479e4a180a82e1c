#pragma once
#include <sqlite3.h>

/// Variadic functions cannot be called from Swift.
/// Turns off the counting of allocations, which costs a lock each. To be called before anything else of SQLite.
static inline int sqlite3_config_no_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
