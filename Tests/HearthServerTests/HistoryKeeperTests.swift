import Glibc
import HearthJSONTree
import HearthServer
import HearthServerLog
import HearthSQLite
import HearthStorageErrors
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing
import HearthTreeStorage

@testable import HearthDatabaseHost

@Suite("The keeper of histories") final class HistoryKeeperTests {
    private let data = TemporaryFolder()
    private var keepers: [HistoryKeeper] = []

    deinit { for keeper in keepers { keeper.stop() } }

    /// Keeps the history of a database whose place `notes` was set once.
    private func makeKeeper(
        bytesMax: Int = 1 << 20, freeBytesMin: Int64 = 0, _ log: Log = Log(level: .error)
    ) throws -> HistoryKeeper {
        do {
            let path = data.path
            let client = try RealtimeTestServer { $0.dataFolder = path }.connectREST()
            let settings = #"{"settings":{"notes":{".history":"30d"}}}"#
            let target = "/.settings/settings.json?ns=example"
            #expect(try client.ask("PUT", target, RESTClient.owner, settings).status == 200)
            let texts = (100..<200).map { "\"\($0)\":\"\(String(repeating: "x", count: 1000))\"" }
            let value = "{\(texts.joined(separator: ","))}"
            #expect(try client.ask("PUT", "/notes.json?ns=example", [], value).status == 200)
            #expect(try client.ask("GET", "/notes/.history.json?ns=example", RESTClient.owner).status == 200)
        }
        let folder = try DataFolder(path: data.path, durability: .process)
        let rules = try RulesInForce(file: nil, folder: folder, isDevelopment: true)
        let keeper = try HistoryKeeper(
            folder, rules, log, bytesMax: bytesMax, freeBytesMin: freeBytesMin)
        keepers.append(keeper)
        return keeper
    }

    private func ask(_ keeper: HistoryKeeper, for asker: PastAsker.Weak) throws -> HistoryKeeper.Answer {
        let answer = Mutex<HistoryKeeper.Answer?>(nil)
        let isAnswered = Semaphore()
        keeper.ask(.value(.sequence(1)), at: try Path(parsing: "notes"), of: "example", for: asker) { result in
            answer.withLock { $0 = result }
            isAnswered.signal()
        }
        isAnswered.wait()
        return answer.withLock { $0.take() } ?? .failure(.notKept)
    }

    private func error(_ answer: HistoryKeeper.Answer) -> HistoryError? {
        if case .failure(let error) = answer { error } else { nil }
    }

    @Test("refuses questions while other files take the place of its own, which are closed then")
    func holding() throws {
        let keeper = try makeKeeper()
        let asker = PastAsker(client: 1)
        #expect(error(try ask(keeper, for: asker.weak)) == nil)
        #expect(FolderContents(data.path).files.contains("example.history-wal"))
        keeper.hold("example")
        #expect(!FolderContents(data.path).files.contains("example.history-wal"))
        #expect(error(try ask(keeper, for: asker.weak)) == .storage(HistoryFile.isReplaced))
        keeper.release("example")
        #expect(error(try ask(keeper, for: asker.weak)) == nil)
    }

    @Test("tells of damage in its files, in the log once")
    func damage() throws {
        let text = TemporaryFolder()
        let descriptor = open(text.path + "/log", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let keeper = try makeKeeper(Log(level: .error, descriptor: descriptor))
        try Self.damageHistory(in: data)
        let asker = PastAsker(client: 1)
        keeper.advance("example")
        for _ in 0..<2 {
            let message = error(try ask(keeper, for: asker.weak))?.message
            #expect(message?.contains("has the number -28, which is impossible") == true, "\(message ?? "")")
            keeper.advance("example")
        }
        _ = try ask(keeper, for: asker.weak)
        let lines = String(decoding: TemporaryFolder.contents(of: text.path + "/log"), as: UTF8.self)
        #expect(lines.split(separator: "\n").filter { $0.contains("history.failed") }.count == 1, "\(lines)")
    }

    private static func damageHistory(in data: TemporaryFolder) throws {
        try Connection(path: data.path + "/example.history", mode: .readWrite).execute(
            "UPDATE meta SET value = -28 WHERE name = 'sequence'")
    }

    @Test("is not needed to read and write the present")
    func present() throws {
        try makeKeeper().stop()
        keepers = []
        try Self.damageHistory(in: data)
        let path = data.path
        let client = try RealtimeTestServer { $0.dataFolder = path }.connectREST()
        #expect(try client.ask("PUT", "/notes/100.json?ns=example", [], "1").status == 200)
        #expect(try client.ask("GET", "/notes/100.json?ns=example", []).text == "1")
        #expect(try client.ask("GET", "/notes/.history.json?ns=example", RESTClient.owner).status == 503)
    }

    @Test("puts eight large values together or sends them at a time, and two for one client")
    func copiesMax() throws {
        let keeper = try makeKeeper(bytesMax: 50_000)
        let askers = (1...5).map { PastAsker(client: $0) }
        var answers: [HistoryKeeper.Answer] = []
        func ask(_ index: Int) throws -> HistoryError? {
            let answer = try self.ask(keeper, for: askers[index].weak)
            if case .success(.rows) = answer { answers.append(answer) }
            return error(answer)
        }
        func isRefused(_ index: Int, _ part: String) throws -> Bool {
            guard case .storage(.overloaded(let text)) = try ask(index) else { return false }
            return text.contains(part)
        }
        for index in 0..<4 {
            #expect(try ask(index) == nil)
            #expect(try ask(index) == nil)
            #expect(try isRefused(index, index < 3 ? "this client has 2" : "8 large reads"))
        }
        try #require(answers.count == 8)
        #expect(try isRefused(4, "8 large reads"))
        answers.removeFirst()
        // The thread that made it lets it go in a moment.
        let another = try (0..<100_000).contains { _ in try ask(4) == nil }
        #expect(another)
    }

    @Test("does not put a large value together for a client that has left")
    func leaving() throws {
        let keeper = try makeKeeper(bytesMax: 50_000)
        let left = PastAsker(client: 1).weak
        #expect(error(try ask(keeper, for: left)) == .storage(.stopping))
    }

    @Test("does not put a large value together on a disk with too little room")
    func diskSpace() throws {
        let keeper = try makeKeeper(bytesMax: 50_000, freeBytesMin: .max)
        let asker = PastAsker(client: 1)
        let text = "the disk has too little room for a large value of the past: try again later"
        #expect(error(try ask(keeper, for: asker.weak)) == .storage(.overloaded(text)))
    }
}
