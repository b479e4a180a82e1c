import HearthBench
import HearthEventLoop
import HearthShell
import HearthSystem

extension Command {
    static let echo = Command(
        name: "echo", synopsis: "[OPTIONS]", summary: "Run a WebSocket echo server, for conformance suites.",
        options: [.init(name: "listen", value: "HOST:PORT", help: "where to listen (default 127.0.0.1:9001)")]
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        let listen = arguments["listen"] ?? "127.0.0.1:9001"
        guard let address = SocketAddress(hostAndPort: listen) else {
            throw UsageError(message: "--listen must be an address and a port, not '\(listen)'")
        }
        let ended = Semaphore()
        do throws(SystemError) {
            let server = try EchoServer(address: address)
            try server.onSignals { ended.signal() }
            StandardOutput.line("hearth: ready on \(server.address)")
            ended.wait()
            server.stop()
            return .success
        } catch {
            StandardError.write("hearth echo: \(error)\n")
            return .failure
        }
    }
}
