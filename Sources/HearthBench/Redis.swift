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
        let port = try FreePorts.several(1)[0]
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
