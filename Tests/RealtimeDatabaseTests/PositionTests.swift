import JSONTree
import TestSupport
import Testing

@testable import RealtimeDatabase

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

    @Test("a place keeps no more than it may, and others are not concerned")
    func tooMuch() throws {
        let changes = MissedChanges(after: 10, bytesMax: 1000)
        let (a, b) = (changes.place(at: "a"), changes.place(at: "b"))
        for sequence in 11...20 as ClosedRange<UInt64> {
            try changes.take(Self.record(sequence, sequence == 15 ? "b" : "a", bytes: 200))
        }
        #expect(changes.through == 20 && a.start > 10 && b.start == 10)
        #expect(a.entries.map(\.sequence) == Array(a.start + 1...20).filter { $0 != 15 })
        #expect(b.entries.map(\.sequence) == [15])
        changes.forget(after: 14)
        try changes.take(Self.record(15, "b"))
        #expect(b.entries.map(\.sequence) == [15] && changes.through == 15)
        #expect(b.range(after: 14, through: 15) == 0..<1)
        #expect(b.range(after: 15, through: 15).isEmpty && b.range(after: 10, through: 14).isEmpty)
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
}
