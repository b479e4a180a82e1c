import Glibc

/// The signals that end a command.
enum Signals {
    /// Keeps SIGINT and SIGTERM from ending the process at once. To be called before threads are started, which inherit it.
    static func hold() {
        var set = ending
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for SIGINT or SIGTERM. A second one ends the process at once.
    static func waitForEnd() {
        var set = ending
        var signal: Int32 = 0
        sigwait(&set, &signal)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    private static var ending: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGTERM)
        return set
    }
}
