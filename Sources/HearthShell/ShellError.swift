package import HearthClientSession

/// Why a command of the shell failed.
package enum ShellError: Error {
    /// It was not written as it must be.
    case usage(String)
    /// The contents of a file or standard input are invalid.
    case data(String)
    /// It was refused, or failed.
    case failed(String)
    /// The negative result was printed: the request is denied, or the files differ.
    case negative
    /// The connection is gone; the next command makes another one.
    case lost(String)
    /// Somebody has interrupted it, or wants to see no more.
    case stopped
    /// Somebody has answered a question with ^C.
    case givenUp

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
        case .usage(let text), .data(let text), .failed(let text), .lost(let text): text
        case .negative, .stopped, .givenUp: nil
        }
    }

    /// With this at the end of the message.
    func adding(_ text: String) -> ShellError {
        switch self {
        case .usage(let message): .usage(message + text)
        case .data(let message): .data(message + text)
        case .failed(let message): .failed(message + text)
        case .lost(let message): .lost(message + text)
        case .negative, .stopped, .givenUp: self
        }
    }
}

/// Runs `body`; its errors become those of the shell.
func reporting<Value>(
    _ body: () async throws(ConnectionError) -> Value
) async throws(ShellError) -> Value {
    do throws(ConnectionError) { return try await body() } catch { throw ShellError(error) }
}
