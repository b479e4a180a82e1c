import Glibc

/// The Redis server of the distribution, with a log that is as durable as Hearth's.
enum Redis {
    private static let readyText = "Ready to accept connections"
    private static let places = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"]

    /// Starts it with an empty folder.
    static func start(in folder: String, durability: String, cpu: Int?) throws(BenchError) -> TargetProcess {
        guard let program = places.first(where: { access($0, X_OK) == 0 }) else {
            throw BenchError("there is no redis-server: install the package redis-server")
        }
        let port = try freePort()
        let (appends, syncs) =
            switch durability {
            case "full": ("yes", "always")
            case "process": ("yes", "no")
            default: ("no", "no")
            }
        let arguments = [
            "--port", "\(port)", "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", appends,
            "--appendfsync", syncs, "--appenddirname", "log", "--auto-aof-rewrite-percentage", "0",
        ]
        return try TargetProcess(.redis, program, arguments: arguments, cpu: cpu) { line in
            line.contains(readyText) ? IPv4Address(port: port) : nil
        }
    }

    /// A free port.
    private static func freePort() throws(BenchError) -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw BenchError("make a socket", code: -Int(errno)) }
        defer { close(descriptor) }
        let isBound = IPv4Address(port: 0).withSystemAddress {
            bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), $1) == 0
        }
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isNamed = withUnsafeMutableBytes(of: &name) {
            // Safe because: a sockaddr_in is a sockaddr of its size.
            getsockname(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size) == 0
        }
        guard isBound, isNamed else { throw BenchError("find a free port", code: -Int(errno)) }
        return UInt16(bigEndian: name.sin_port)
    }
}

/// The requests to Redis: one command after another, with different fields.
struct RedisCommands: RequestSource {
    typealias Replies = RedisReplies

    private var command: FrameTemplate
    let reply: ReplyShape
    private let fill: (inout FrameTemplate, _ index: Int, _ connection: Int) -> Void

    private init(
        _ words: [String], reply: String,
        fill: @escaping (inout FrameTemplate, _ index: Int, _ connection: Int) -> Void
    ) {
        command = FrameTemplate(redis: words)
        self.reply = ReplyShape(text: reply)
        self.fill = fill
    }

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        fill(&command, index, connection)
        output.append(contentsOf: command.bytes)
    }

    private static let numbered = SmallObject.text(number: "##########")
    private static let read = SmallObject.text(number: "\(RequestNumber.base)")

    /// Sets the objects that ``ObjectSets`` sets, as strings.
    static var sets: RedisCommands {
        RedisCommands(["SET", "bench:####:####", numbered], reply: "OK") { command, index, connection in
            command.fill(0, number: ObjectSets.keyBase + connection)
            command.fill(1, number: ObjectSets.keyBase + index % ObjectSets.keys)
            command.fill(2, number: RequestNumber.base + index)
        }
    }

    /// Sets objects under new keys.
    static var pushes: RedisCommands {
        RedisCommands(
            ["SET", "bench:list:####:##########", numbered], reply: "OK"
        ) { command, index, connection in
            command.fill(0, number: connection)
            command.fill(1, number: RequestNumber.base + index)
            command.fill(2, number: RequestNumber.base + index)
        }
    }

    /// Sets the keys that ``gets`` reads, all over one connection.
    static var filling: RedisCommands {
        RedisCommands(["SET", "bench:####:####", read], reply: "OK") { command, index, _ in
            command.fill(0, number: ObjectSets.keyBase + index / ObjectSets.keys)
            command.fill(1, number: ObjectSets.keyBase + index % ObjectSets.keys)
        }
    }

    /// Reads the objects that ``ObjectGets`` reads, in the same order.
    static var gets: RedisCommands {
        RedisCommands(["GET", "bench:####:####"], reply: read) { command, index, connection in
            command.fill(0, number: ObjectSets.keyBase + connection)
            command.fill(1, number: ObjectSets.keyBase + index &* 617 % ObjectSets.keys)
        }
    }
}
