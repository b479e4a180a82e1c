/// How a command ended, for scripts (sysexits.h where it has a fitting one).
enum ExitCode: Int32 {
    case success = 0
    /// The operation was refused or failed.
    case failure = 1
    /// The command line or the configuration is wrong.
    case usage = 64
    /// The data in a file or standard input are wrong.
    case data = 65
    /// The server cannot be reached.
    case unavailable = 69
    /// SIGINT has ended it, as shells say it.
    case interrupted = 130
    /// SIGTERM has ended it, as shells say it.
    case terminated = 143
}
