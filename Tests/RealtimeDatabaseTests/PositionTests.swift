import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("positions, and what was missed")
struct PositionTests {
    @Test(
        "a position has one text",
        arguments: [
            (1, 0, nil, "0000000000000001:0"), (1, 0, 5, "0000000000000001:0"),
            (0x0123_4567_89AB_CDEF, 4711, nil, "0123456789abcdef:4711"),
            (0x0123_4567_89AB_CDEF, 4711, 1_700_000_000_000, "0123456789abcdef:4711:cfe56800"),
            (.max, 999_999_999_999_999_999, -1, "ffffffffffffffff:999999999999999999:ffffffff"),
            (1, 2, 0, "0000000000000001:2:00000000"),
        ] as [(UInt64, UInt64, Int64?, String)])
    func text(epoch: UInt64, sequence: UInt64, time: Int64?, text: String) {
        let position = Position(epoch: epoch, sequence: sequence, time: time)
        #expect(String(decoding: position.text, as: UTF8.self) == text)
        #expect(Position(Array(text.utf8)) == position)
    }

    @Test(
        "any other text is invalid",
        arguments: [
            "", ":", "::", "1:1", "0123456789abcdef", "0123456789abcdef:", "0123456789abcdef:-1",
            "0123456789abcdef:01", "0123456789ABCDEF:1", "0123456789abcdeg:1", "0123456789abcdef;1",
            "0123456789abcdef:1 ", "0123456789abcdef:1x", " 0123456789abcdef:1",
            "0123456789abcdef:10000000000000000000", "0123456789abcdef0:1", "0123456789abcdef:1:",
            "0123456789abcdef:1:0123456", "0123456789abcdef:1:012345678", "0123456789abcdef:1:0123456A",
            "0123456789abcdef:1:0123456g", "0123456789abcdef::01234567", "0123456789abcdef:1:01234567:",
            "0123456789abcdef:1:01234567:1", "0123456789abcdef:0:01234567",
        ])
    func malformed(text: String) {
        #expect(Position(Array(text.utf8)) == nil)
    }

    @Test("a position is that of one commit, and without its time of none but the beginning")
    func checks() {
        let position = Position(epoch: 1, sequence: 5, time: 1_700_000_000_000)
        #expect(position.follows(commitAt: 1_700_000_000_000))
        #expect(!position.follows(commitAt: 1_700_000_000_001))
        #expect(!position.follows(commitAt: nil))
        let old = Position(epoch: 1, sequence: 5, time: nil)
        #expect(!old.follows(commitAt: 1_700_000_000_000))
        #expect(!old.follows(commitAt: nil))
        let beginning = Position(epoch: 1, sequence: 0, time: nil)
        #expect(beginning.follows(commitAt: nil))
    }

    private static func record(_ sequence: UInt64, _ path: Path, bytes: Int = 1) -> LogRecord {
        var record = LogRecord(firstSequence: sequence, time: Int64(sequence))
        let value = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: bytes))
        record.append(.set(Assignment(target: WriteTarget(path: path), value: value)), uid: [])
        return record
    }

    @Test("a place notes no more nodes than it may, and others are not concerned")
    func tooMuch() throws {
        let changes = MissedChanges(after: 10, nodesMax: 5)
        let (a, b) = (changes.place(at: "a"), changes.place(at: "b"))
        for sequence in 11...20 as ClosedRange<UInt64> {
            try changes.take(Self.record(sequence, sequence == 15 ? "b" : a.path.appending(Key(Int32(sequence)))))
        }
        #expect(changes.through == 20)
        #expect(a.start == 17)
        #expect(a.latest == 20)
        #expect(b.start == 10)
        #expect(b.latest == 15)
        // The same nodes again and again are no more of them.
        for sequence in 21...40 as ClosedRange<UInt64> { try changes.take(Self.record(sequence, "a/x")) }
        #expect(a.start == 17)
        #expect(a.latest == 40)
        changes.forget(after: 14)
        try changes.take(Self.record(15, "b"))
        #expect(changes.through == 15)
    }

    @Test("what is recent is kept up to a bound, with the time of what was before it")
    func recent() {
        var recent = RecentRecords(after: 3, committedAt: 33)
        #expect(recent.time(of: 3) == 33)
        #expect(recent.time(of: 2) == nil)
        #expect(recent.time(of: 4) == nil)
        for sequence in 4...9 as ClosedRange<UInt64> { recent.append(Self.record(sequence, "a", bytes: 3 << 20)) }
        #expect(recent.start > 3)
        #expect(recent.start < 9)
        #expect(recent.after(7).map(\.firstSequence) == [8, 9])
        for sequence in recent.start...9 { #expect(recent.time(of: sequence) == Int64(sequence)) }
        #expect(recent.time(of: recent.start - 1) == nil)
        #expect(recent.time(of: 10) == nil)
        recent.removeAll(through: 8)
        #expect(recent.start == 8)
        #expect(recent.after(0).map(\.firstSequence) == [9])
        #expect(recent.time(of: 8) == 8)
        #expect(recent.time(of: 7) == nil)
        recent.removeAll(through: 9)
        #expect(recent.start == 9)
        #expect(recent.after(0).isEmpty)
        #expect(recent.time(of: 9) == 9)
        // Other nodes have appended records that are not here.
        recent.removeAll(through: 12)
        #expect(recent.start == 12)
        #expect(recent.time(of: 12) == nil)
    }

    // MARK: Epochs

    /// A log that was written to by three runs of a server, up to 9 by the first and up to 20 by the second.
    private static let epochs = Epochs(
        past: [.init(name: 1, start: 0), .init(name: 2, start: 9)], current: .init(name: 3, start: 20))

    @Test(
        "a number is believed in the epoch that gave it out",
        arguments: [
            (1, 0, true), (1, 9, true), (1, 10, false), (2, 8, false), (2, 9, true), (2, 20, true), (2, 21, false),
            (3, 19, false), (3, 20, true), (3, 25, true), (3, 26, false), (4, 1, false), (0, 1, false),
        ] as [(UInt64, UInt64, Bool)])
    func belief(epoch: UInt64, sequence: UInt64, isBelieved: Bool) {
        #expect(Self.epochs.contain(Position(epoch: epoch, sequence: sequence, time: nil), through: 25) == isBelieved)
    }

    @Test("until something is written, positions are of the epoch before, which the log knows")
    func unwritten() {
        #expect(Self.epochs.position(20, at: 5) == Position(epoch: 2, sequence: 20, time: 5))
        #expect(Self.epochs.position(21, at: 5) == Position(epoch: 3, sequence: 21, time: 5))
        #expect(!Self.epochs.contain(Position(epoch: 2, sequence: 21, time: 5), through: 20))
        let new = Epochs(current: .init(name: 7, start: 0))
        #expect(new.position(0, at: nil) == Position(epoch: 7, sequence: 0, time: nil))
        #expect(new.contain(new.position(0, at: nil), through: 0))
    }
}
