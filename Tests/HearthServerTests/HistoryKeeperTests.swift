import HearthJSONTree
import HearthServer
import HearthServerLog
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
    private func makeKeeper(bytesMax: Int = 1 << 20, freeBytesMin: Int64 = 0) throws -> HistoryKeeper {
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
            folder, rules, Log(level: .error), bytesMax: bytesMax, freeBytesMin: freeBytesMin)
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
