package import HearthClientSession

/// Why a command of the shell did not do what it was to do.
package enum ShellError: Error {
    /// It was not written as it must be.
    case usage(String)
    /// It was refused, or failed.
    case failed(String)
    /// The connection is gone; the next command makes another one.
    case lost(String)
    /// Somebody has interrupted it, or wants to see no more.
    case stopped

    package init(_ error: ConnectionError) {
        switch error {
        case .cancelled: self = .stopped
        case .disconnected(.handshakeRefused): self = .failed("\(error)")
        case .disconnected, .protocolError: self = .lost("\(error)")
        case .refused, .rateExceeded, .slowReader: self = .failed("\(error)")
        }
    }

    /// For people; nil if there is nothing to say.
    package var message: String? {
        switch self {
        case .usage(let text), .failed(let text), .lost(let text): text
        case .stopped: nil
        }
    }
}

/// Runs `body`; its errors become those of the shell.
func reporting<Value>(
    _ body: () async throws(ConnectionError) -> Value
) async throws(ShellError) -> Value {
    do throws(ConnectionError) { return try await body() } catch { throw ShellError(error) }
}

/// Runs a command that ends when it is interrupted. The interruption is not an error, whatever the command waits for at
/// that moment.
func untilInterrupted(_ body: () async throws(ShellError) -> Void) async throws(ShellError) {
    do throws(ShellError) { try await body() } catch {
        if case .stopped = error, Task.isCancelled { return }
        throw error
    }
}
