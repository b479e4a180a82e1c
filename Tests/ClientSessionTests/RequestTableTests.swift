import HearthJSONTree
import Synchronization
import Testing
import HearthWireProtocol
import HearthServerProtocol
@testable import HearthClientSession

@Suite("Requests of a connection")
struct RequestTableTests {
    private func put(_ name: String, bytes: Int) throws -> ClientRequest {
        let value = CanonicalJSON(string: [UInt8](repeating: UInt8(ascii: "x"), count: bytes))
        return .put(WireAssignment(target: try WriteTarget(parsing: name), value: value), hash: nil)
    }

    /// The number and the path of a message.
    private func sent(_ table: inout RequestTable) throws -> String? {
        guard let message = table.nextMessage() else { return nil }
        guard
            case .request(let number, .put(let assignment, _)) = try message.withUnsafeBytes({
                try ClientMessage.parse($0)
            })
        else { return "?" }
        return "\(number) \(assignment.target.path)"
    }

    @Test("what would be too much at once waits for answers, in order")
    func window() throws {
        var table = RequestTable(unansweredBytesMax: 10_000)
        for name in ["a", "b", "c", "d"] { table.add(try put(name, bytes: 6000)) { _ in } }
        #expect(table.isEmpty)
        #expect(try sent(&table) == "1 /a")
        #expect(!table.isEmpty)
        // There was room when it was its turn, so it may go beyond.
        #expect(try sent(&table) == "2 /b")
        #expect(try sent(&table) == nil)
        #expect(table.answered(2) != nil)
        #expect(try sent(&table) == "3 /c")
        #expect(try sent(&table) == nil)
        #expect(table.answered(1) != nil)
        #expect(table.answered(3) != nil)
        #expect(try sent(&table) == "4 /d")
        #expect(table.answered(4) != nil)
        #expect(table.isEmpty)
    }

    @Test("what may be unanswered of writes grows from little by what is answered, and holds back nothing before them")
    func growth() throws {
        var table = RequestTable(unansweredBytesMax: 10_000, firstWrittenBytes: 1000)
        for _ in 1...8 { table.add(.get(.root, query: nil)) { _ in } }
        for number in 1...8 {
            #expect(try sent(&table) == "?")
            #expect(!table.hasWrites)
            #expect(table.answered(Int64(number)) != nil)
        }
        for number in 1...100 { table.add(try put("\(number)", bytes: 700)) { _ in } }
        #expect(table.hasWrites)
        var (next, last) = (Int64(9), Int64(8))
        var counts: [Int64] = []
        while next <= 108 {
            while try sent(&table) != nil { last += 1 }
            counts.append(last - next + 1)
            while next <= last {
                #expect(table.answered(next) != nil)
                next += 1
            }
        }
        #expect(counts == [1, 2, 4, 8, 10, 10, 10, 10, 10, 10, 10, 10, 5])
    }

    @Test("one request may be larger than all that may be unanswered")
    func large() throws {
        var table = RequestTable(unansweredBytesMax: 1000)
        table.add(try put("a", bytes: 50_000)) { _ in }
        table.add(try put("b", bytes: 1)) { _ in }
        #expect(try sent(&table) == "1 /a")
        #expect(try sent(&table) == nil)
        #expect(table.answered(1) != nil)
        #expect(try sent(&table) == "2 /b")
    }

    @Test("a request that nobody wants any more is not sent")
    func abandoned() throws {
        var table = RequestTable(unansweredBytesMax: 1000)
        table.add(try put("a", bytes: 1), willSend: { false }) { _ in }
        table.add(try put("b", bytes: 1)) { _ in }
        #expect(try sent(&table) == "1 /b")
        #expect(try sent(&table) == nil)
    }

    @Test("an answer to nothing is nobody's")
    func unknown() throws {
        var table = RequestTable(unansweredBytesMax: 1000)
        #expect(table.answered(1) == nil)
        table.add(try put("a", bytes: 1)) { _ in }
        #expect(table.answered(1) == nil)
        _ = try sent(&table)
        #expect(table.answered(1) != nil)
        #expect(table.answered(1) == nil)
    }

    @Test("at the end all hear of it, in the order in which they asked")
    func end() throws {
        var table = RequestTable(unansweredBytesMax: 1000)
        let heard = Mutex<[Int]>([])
        for number in 0..<200 {
            table.add(try put("a", bytes: 10)) { _ in heard.withLock { $0.append(number) } }
        }
        while try sent(&table) != nil {}
        for completion in table.removeAll() { completion(.failure(.cancelled)) }
        #expect(heard.withLock { $0 } == Array(0..<200))
        #expect(table.isEmpty)
        #expect(table.nextMessage() == nil)
    }

    @Test("thousands pass through in order")
    func many() throws {
        var table = RequestTable(unansweredBytesMax: 3000)
        var next: Int64 = 1
        for round in 0..<500 {
            for _ in 0..<4 { table.add(try put("r\(round)", bytes: 20)) { _ in } }
            for _ in 0..<4 {
                while try sent(&table) != nil {}
                #expect(table.answered(next) != nil)
                next += 1
            }
        }
        #expect(table.isEmpty)
        #expect(next == 2001)
    }
}
