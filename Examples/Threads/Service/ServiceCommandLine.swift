import EventLoop

/// What the command line of the service says.
struct ServiceCommandLine {
    enum Failure: Error {
        case helpWanted
        /// One line for people.
        case wrong(String)
    }

    static let help = """
        usage: hearth-threads-service [OPTIONS]

        Threads and messages over HTTP, kept in a Hearth database.

        Options
          --listen HOST:PORT  where to listen (default 127.0.0.1:8080)
          --server URL        the database (default http://127.0.0.1:9000)
          --help              print this
        """

    private(set) var listen = "127.0.0.1:8080"
    private(set) var server = "http://127.0.0.1:9000"
    let address: SocketAddress

    init(_ words: [String]) throws(Failure) {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--help" { throw .helpWanted }
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard word.hasPrefix("--"), ["--listen", "--server"].contains(parts[0]) else {
                throw .wrong("there is no option '\(word)'")
            }
            guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
                throw .wrong("\(word) needs a value")
            }
            if parts[0] == "--listen" { listen = value } else { server = value }
        }
        guard let address = SocketAddress(hostAndPort: listen) else {
            throw .wrong("--listen takes an address and a port, as in 127.0.0.1:8080")
        }
        self.address = address
    }
}
