import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing
import HearthRealtimeDatabase
import HearthStorageErrors

@Suite("a log record")
struct LogRecordTests {
    private static func example(
        seed: UInt64
    ) throws -> (record: LogRecord, contents: [(content: LoggedOperation.Content, uid: [UInt8])]) {
        var generator = StepGenerator(seed: seed)
        var random = SeededRandom(seed: seed)
        var record = LogRecord(firstSequence: seed + 1, time: 1_700_000_000_000 + Int64(seed))
        var contents: [(content: LoggedOperation.Content, uid: [UInt8])] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let uid = Array("user".utf8.prefix(Int.random(in: 0...4, using: &random)))
            var assignments: [Assignment] = []
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let target = WriteTarget(path: generator.path(), isPriority: Bool.random(using: &random))
                assignments.append(Assignment(target: target, value: generator.value()))
            }
            let connection = UInt64.random(in: 0...UInt64.max, using: &random)
            if Bool.random(using: &random) {
                let auth = Array(#"{"uid":"x"}"#.utf8)
                let principals: [Principal] = [.nobody, .administrator, try Principal(auth: auth)]
                let principal = principals.randomElement(using: &random) ?? .nobody
                record.append(owed: assignments, of: connection, by: principal)
                contents.append((.owe(assignments, connection: connection, by: principal), principal.uid))
                continue
            } else if Int.random(in: 0..<4, using: &random) == 0 {
                let path = generator.path()
                record.append(cancelled: path, of: connection)
                contents.append((.cancelOwed(path, connection: connection), []))
                continue
            }
            let change: Change =
                assignments.count == 1 ? .set(assignments[0]) : .merge(base: generator.path(), assignments)
            record.append(change, uid: uid)
            contents.append((.change(change), uid))
        }
        return (record, contents)
    }

    @Test("gives back what was put in", arguments: 0..<40 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        let (record, contents) = try Self.example(seed: seed)
        let operations = try record.operations()
        #expect(operations.map(\.content) == contents.map(\.content), "seed \(seed)")
        #expect(operations.map(\.uid) == contents.map(\.uid), "seed \(seed)")
        #expect(operations.map(\.sequence) == Array(record.firstSequence...record.lastSequence), "seed \(seed)")
    }

    @Test("gives the changes that concern places alone, and skips the others", arguments: 0..<40 as Range<UInt64>)
    func concerned(seed: UInt64) throws {
        var (record, _) = try Self.example(seed: seed)
        record.append(OutboxChange())
        let places = try record.operations().flatMap(\.assignments).map(\.target.path)
        var random = SeededRandom(seed: seed)
        let place = places.randomElement(using: &random) ?? .root
        let pattern = IndexPattern(segments: place.segments.map { Array(place.encoded[$0]) })
        let expected = try record.operations().filter { operation in
            guard case .change(let change) = operation.content else { return false }
            return pattern.concerns(change.base)
        }
        #expect(try record.changes(concerning: ConcernedPatterns([pattern])) == expected, "seed \(seed)")
        #expect(try record.changes(concerning: ConcernedPatterns([])).isEmpty, "seed \(seed)")
    }

    @Test("is damaged when it is cut anywhere", arguments: 0..<10 as Range<UInt64>)
    func truncation(seed: UInt64) throws {
        let (record, _) = try Self.example(seed: seed)
        for count in 0..<record.body.count {
            var cut = record
            cut.body.removeLast(record.body.count - count)
            #expect(throws: StorageError.self, "seed \(seed) at \(count)") { try cut.operations() }
            #expect(cut.checksum != record.checksum, "seed \(seed) at \(count)")
        }
    }

    @Test(
        "has another checksum after any change, and is read or refused without a trap",
        arguments: 0..<40 as Range<UInt64>)
    func corruption(seed: UInt64) throws {
        let (record, _) = try Self.example(seed: seed)
        var random = SeededRandom(seed: seed)
        for step in 0..<60 {
            var other = record
            for _ in 0..<Int.random(in: 1...3, using: &random) { Self.corrupt(&other, &random) }
            guard other != record else { continue }
            #expect(other.checksum != record.checksum, "seed \(seed) step \(step)")
            _ = try? other.operations()
            _ = try? other.changes(concerning: ConcernedPatterns([]))
        }
    }

    private static func corrupt(_ record: inout LogRecord, _ random: inout SeededRandom) {
        let place = Int.random(in: 0..<max(record.body.count, 1), using: &random)
        switch Int.random(in: 0..<7, using: &random) {
        case 0...2 where !record.body.isEmpty: record.body[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 3 where !record.body.isEmpty: record.body[place] = UInt8.random(in: .min ... .max, using: &random)
        case 4: record.body.insert(UInt8.random(in: .min ... .max, using: &random), at: min(place, record.body.count))
        case 5: record.body.append(contentsOf: repeatElement(0, count: Int.random(in: 1...9, using: &random)))
        default:
            record.count += 1
            record.time ^= 1
        }
    }

    @Test("without the changes at a place, has no claims of a user whose on-disconnect writes have all gone")
    func erasingClaims() throws {
        let principal = try Principal(auth: Array(#"{"uid":"alice","token":{"email":"alice@example.com"}}"#.utf8))
        let cases: [(paths: [Path], isKept: Bool)] = [
            (["users/alice/is"], false), (["users/alice/is", "users/bob"], true),
        ]
        for (paths, isKept) in cases {
            var record = LogRecord(firstSequence: 1, time: 5)
            let owed = paths.map { Assignment(target: WriteTarget(path: $0), value: "1") }
            record.append(owed: owed, of: 1, by: principal)
            let erased = try #require(try record.erasing("users/alice"))
            #expect(String(decoding: erased.body, as: UTF8.self).contains("alice@example.com") == isKept)
        }
    }
}
