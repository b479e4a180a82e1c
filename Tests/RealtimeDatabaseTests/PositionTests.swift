import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("positions, and what was missed")
struct PositionTests {
    @Test(
        "a position has one text",
        arguments: [
            (1, 0, "0000000000000001:0"), (0x0123_4567_89AB_CDEF, 4711, "0123456789abcdef:4711"),
            (.max, 999_999_999_999_999_999, "ffffffffffffffff:999999999999999999"),
        ] as [(UInt64, UInt64, String)])
    func text(epoch: UInt64, sequence: UInt64, text: String) {
        let position = Position(epoch: epoch, sequence: sequence)
        #expect(String(decoding: position.text, as: UTF8.self) == text)
        #expect(Position(Array(text.utf8)) == position)
    }

    @Test(
        "anything else is none",
        arguments: [
            "", ":", "1:1", "0123456789abcdef", "0123456789abcdef:", "0123456789abcdef:-1", "0123456789abcdef:01",
            "0123456789ABCDEF:1", "0123456789abcdeg:1", "0123456789abcdef;1", "0123456789abcdef:1 ",
            "0123456789abcdef:1x", " 0123456789abcdef:1", "0123456789abcdef:10000000000000000000",
            "0123456789abcdef0:1",
        ])
    func malformed(text: String) {
        #expect(Position(Array(text.utf8)) == nil)
    }

    private static func record(_ sequence: UInt64, _ path: Path, bytes: Int = 1) -> LogRecord {
        var record = LogRecord(firstSequence: sequence, time: 0)
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
        #expect(a.start == 17 && a.latest == 20)
        #expect(b.start == 10 && b.latest == 15)
        // The same nodes again and again are no more of them.
        for sequence in 21...40 as ClosedRange<UInt64> { try changes.take(Self.record(sequence, "a/x")) }
        #expect(a.start == 17 && a.latest == 40)
        changes.forget(after: 14)
        try changes.take(Self.record(15, "b"))
        #expect(changes.through == 15)
    }

    @Test("what is recent is kept up to a bound, and from the newest backwards when it did not happen")
    func recent() {
        var recent = RecentRecords(after: 3)
        for sequence in 4...9 as ClosedRange<UInt64> { recent.append(Self.record(sequence, "a", bytes: 3 << 20)) }
        #expect(recent.start > 3 && recent.start < 9)
        #expect(recent.after(7).map(\.firstSequence) == [8, 9])
        recent.forget(after: 8)
        #expect(recent.after(7).map(\.firstSequence) == [8])
        recent.removeAll(through: 8)
        #expect(recent.start == 8 && recent.after(0).isEmpty)
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
        #expect(Self.epochs.contain(Position(epoch: epoch, sequence: sequence), through: 25) == isBelieved)
    }

    @Test("until something is written, positions are of the epoch before, which the log knows")
    func unwritten() {
        #expect(Self.epochs.position(20) == Position(epoch: 2, sequence: 20))
        #expect(Self.epochs.position(21) == Position(epoch: 3, sequence: 21))
        #expect(!Self.epochs.contain(Position(epoch: 2, sequence: 21), through: 20))
        let new = Epochs(current: .init(name: 7, start: 0))
        #expect(new.position(0) == Position(epoch: 7, sequence: 0))
        #expect(new.contain(new.position(0), through: 0))
    }
}
