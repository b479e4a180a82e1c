/// What the command line of the feeder says.
struct FeederCommandLine {
    enum Failure: Error {
        case helpWanted
        /// One line for people.
        case wrong(String)
    }

    static let help = """
        usage: hearth-weather-feeder [OPTIONS] SOURCE

        Reads a forecast in JSON from a file or an HTTP address, and writes it to a Hearth database.

        Options
          --server URL     the database (default http://127.0.0.1:9000)
          --key FILE       the key of a service account; a server in development mode needs none
          --every SECONDS  reads and writes again and again, until it is ended
          --help           print this
        """

    private(set) var server = "http://127.0.0.1:9000"
    private(set) var key: String?
    private(set) var every: Duration?
    let source: String

    init(_ words: [String]) throws(Failure) {
        var sources: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--help" { throw .helpWanted }
            guard word.hasPrefix("--") else {
                sources.append(word)
                continue
            }
            guard ["--server", "--key", "--every"].contains(word) else { throw .wrong("there is no option '\(word)'") }
            guard let value = rest.popFirst() else { throw .wrong("\(word) needs a value") }
            switch word {
            case "--server": server = value
            case "--key": key = value
            default:
                guard let seconds = Int(value), (1...1_000_000).contains(seconds) else {
                    throw .wrong("--every takes a number of seconds")
                }
                every = .seconds(seconds)
            }
        }
        guard sources.count == 1 else { throw .wrong("one source is needed: a file or an address") }
        source = sources[0]
    }
}
