package import Glibc

/// Attributes with which a process starts as from a terminal: it blocks and ignores no signals, although the threads
/// that run tasks block them, and the tests themselves may have been started to ignore some, as nohup(1) does.
///
/// - parameter flags: further ones, for `posix_spawnattr_setflags`.
package func withSpawnAttributes<Result>(
    flags: Int16 = 0, _ body: (UnsafePointer<posix_spawnattr_t>) -> Result
) -> Result {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | flags)
    return body(&attributes)
}
