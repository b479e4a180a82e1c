#pragma once
// Linux calls that Swift's Glibc module does not carry. Wrappers only: this header must not define _GNU_SOURCE,
// which changes system types and breaks the module map of debug builds.
