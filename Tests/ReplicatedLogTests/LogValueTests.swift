import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthTestSupport
import Testing
import HearthReplicatedLog

@Suite("Values of the replicated log") struct LogValueTests {
    private static let id = AppendID(term: 12, number: 3)

    private static func records(_ sizes: [Int]) -> [LogRecord] {
        var next: UInt64 = 41
        return sizes.enumerated().map { index, size in
            defer { next += UInt64(index) + 1 }
            return LogRecord(
                firstSequence: next, count: index + 1, time: 1000 + Int64(index),
                body: Array(repeating: UInt8(index), count: size))
        }
    }

    @Test("a batch gives back its records") func whole() throws {
        let (batch, parts) = LogBatch.make(
            Self.records([3, 0, 70]), Self.id, epoch: 9, partBytesMax: 1000, compresses: false)
        #expect(parts.isEmpty)
        let read = try #require(LogBatch(batch.bytes))
        #expect(batch.byteCount == batch.bytes.count)
        #expect(read == batch)
        #expect(read.firstSequence == 41)
        #expect(read.lastSequence == 46)
        #expect(read.lastTime == 1002)
        let records = try #require(read.records())
        #expect(records.map(\.firstSequence) == [41, 42, 44])
        #expect(records.map(\.count) == [1, 2, 3])
        #expect(records.map(\.body.count) == [3, 0, 70])
    }

    @Test("a large batch is cut into parts, which all have to be there") func parts() throws {
        let (batch, parts) = LogBatch.make(
            Self.records([500, 700]), Self.id, epoch: 9, partBytesMax: 300, compresses: false)
        #expect(parts.count == 5)
        #expect(parts.allSatisfy { $0.count <= 300 })
        let read = try #require(LogBatch(batch.bytes))
        #expect(read.records(parts: parts.flatMap(\.self))?.map(\.body.count) == [500, 700])
        #expect(read.records(parts: parts.dropLast().flatMap(\.self)) == nil)
        #expect(read.records() == nil)
    }

    @Test("a batch is compressed if that saves much, whole or in parts, and gives back its records")
    func compressed() throws {
        let records = Self.records([3, 2000, 70])
        let (batch, parts) = LogBatch.make(records, Self.id, epoch: 9, partBytesMax: 3000, compresses: true)
        #expect(parts.isEmpty)
        #expect(batch.bytes.count < 300)
        #expect(batch.byteCount == batch.bytes.count)
        let read = try #require(LogBatch(batch.bytes))
        #expect(read == batch)
        #expect(read.records() == records)

        // A reply with many batches has about as many bytes of records.
        let (large, few) = LogBatch.make(records, Self.id, epoch: 9, partBytesMax: 1000, compresses: true)
        #expect(few.count == 1)
        #expect(LogBatch(large.bytes)?.records(parts: few[0]) == records)

        let (cut, pieces) = LogBatch.make(records, Self.id, epoch: 9, partBytesMax: 20, compresses: true)
        #expect(pieces.count > 1)
        #expect(cut.byteCount == cut.bytes.count)
        let whole = pieces.flatMap(\.self)
        #expect(LogBatch(cut.bytes)?.records(parts: whole) == records)
        #expect(LogBatch(cut.bytes)?.records(parts: whole.dropLast()) == nil)

        var random = SeededRandom(seed: 1)
        let noise = LogRecord(
            firstSequence: 41, count: 1, time: 1000,
            body: (0..<300_000).map { _ in .random(in: 0 ... .max, using: &random) })
        let (plain, _) = LogBatch.make([noise], Self.id, epoch: 9, partBytesMax: 1 << 20, compresses: true)
        #expect(plain.size == nil)
        #expect(LogBatch(plain.bytes)?.records() == [noise])
    }

    @Test("a compressed batch that claims more bytes than its stream can have takes no memory")
    func bomb() throws {
        let (batch, _) = LogBatch.make(Self.records([2000]), Self.id, epoch: 9, partBytesMax: 3000, compresses: true)
        var bytes = batch.bytes
        bytes.replaceSubrange(58..<66, with: [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        #expect(LogBatch(bytes)?.records() == nil)
        bytes.replaceSubrange(58..<66, with: Array(repeating: 0, count: 8))
        #expect(LogBatch(bytes)?.records() == nil)
    }

    /// A length of 64 GiB is possible for so many bytes: there is no memory for it.
    @Test("the length of compressed records is not relied on before they are expanded", arguments: [-1, 1, 1 << 36])
    func size(change: Int) throws {
        var random = SeededRandom(seed: 3)
        // Compressible, and of more bytes than are expanded at a time.
        let piece = (0..<(64 << 10)).map { _ in UInt8.random(in: 0...7, using: &random) }
        let body = Array(repeatElement(piece, count: 18).joined())
        let record = LogRecord(firstSequence: 41, count: 1, time: 1000, body: body)
        let (batch, parts) = LogBatch.make([record], Self.id, epoch: 9, partBytesMax: 1 << 18, compresses: true)
        #expect(parts.count > 1)
        let size = try #require(batch.size)
        let whole = parts.flatMap(\.self)
        #expect(LogBatch(batch.bytes)?.records(parts: whole) == [record])
        var bytes = batch.bytes
        withUnsafeBytes(of: (size &+ UInt64(bitPattern: Int64(change))).bigEndian) {
            bytes.replaceSubrange(58..<66, with: $0)
        }
        // Enough bytes for that ratio, most of them after the end of the stream.
        let padded = change > 1 ? whole + Array(repeating: 0, count: 1 << 26) : whole
        #expect(LogBatch(bytes)?.records(parts: padded) == nil)
    }

    @Test(
        "damage is noticed, and never stops the program", arguments: 0..<100 as Range<UInt64>, [false, true])
    func damage(seed: UInt64, compresses: Bool) {
        var random = SeededRandom(seed: seed)
        let (batch, _) = LogBatch.make(
            Self.records([300, 20]), Self.id, epoch: 9, partBytesMax: 1000, compresses: compresses)
        #expect((batch.size != nil) == compresses)
        var bytes = batch.bytes
        let index = Int.random(in: 58..<bytes.count, using: &random)
        bytes[index] ^= UInt8.random(in: 1...255, using: &random)
        // A zlib stream says of itself how it was made, which matters to nobody.
        let read = LogBatch(bytes)?.records()
        #expect(read == nil || compresses && read == batch.records(), "seed \(seed)")
        let short = Array(batch.bytes.prefix(Int.random(in: 0..<batch.bytes.count, using: &random)))
        #expect(LogBatch(short)?.records() == nil, "seed \(seed)")
    }

    @Test("heads and owners are read as they were written, and nothing else is") func heads() {
        let head = LogHead(epoch: .max, lastSequence: 7, lastTime: -1, lastAppend: Self.id)
        #expect(LogHead(head.bytes) == head)
        #expect(LogHead(head.bytes + [0]) == nil)
        #expect(LogHead(Array(head.bytes.dropLast())) == nil)
        #expect(LogHead([2] + head.bytes.dropFirst()) == nil)
        let owner = OwnerRecord(node: "n-1", incarnation: 77)
        #expect(OwnerRecord(owner.bytes) == owner)
        #expect(OwnerRecord(Array(owner.bytes.prefix(8))) == nil)
    }

    @Test("keys of batches are in the order of their numbers, and parts are not watched") func keys() {
        let keys = LogKeys(database: "main")
        #expect(keys.batch(9).lexicographicallyPrecedes(keys.batch(10)))
        #expect(keys.batch(.max).lexicographicallyPrecedes(keys.batchesEnd))
        #expect(keys.watched.contains(keys.batch(1)))
        #expect(keys.watched.contains(keys.owner))
        #expect(!keys.watched.contains(keys.part(0, of: 1, Self.id)))
        #expect(!LogKeys(database: "mai").watched.contains(keys.owner))
        #expect(keys.parts(from: 5, upTo: nil).contains(keys.part(2, of: 5, Self.id)))
        #expect(!keys.parts(from: 6, upTo: nil).contains(keys.part(2, of: 5, Self.id)))
        #expect(
            !keys.parts(of: 5, AppendID(term: 1, number: 1)).contains(
                keys.part(0, of: 5, AppendID(term: 1, number: 12))))
    }

    /// Another program has computed it.
    @Test("two versions of the program agree on the order in which nodes claim a database") func candidates() {
        let nodes = ["n1", "n2", "n3", "n4", "n5"]
        #expect(NodeRecord.candidates(for: "main", of: nodes) == ["n4", "n2", "n5", "n3", "n1"])
        #expect(NodeRecord.candidates(for: "main", of: nodes.reversed()) == ["n4", "n2", "n5", "n3", "n1"])
    }

    @Test("a lease is relied on for less time than it lasts, counted from sending") func lease() {
        var lease = NodeLease(seed: 5)
        guard case .grant(let number, let seconds)? = lease.handle(.tick, at: 1000).first else {
            Issue.record("no lease is asked for")
            return
        }
        expect(&lease, .granted(number, .success(seconds)), 1800, [.lease(number)])
        #expect(lease.validity ?? (0, 0) == (number, 3500))
        expect(&lease, .tick, 2000, [.keepAlive(number)])
        expect(&lease, .renewed(number, .failure(.noLeader)), 2400, [])
        expect(&lease, .tick, 2600, [.keepAlive(number)])
        expect(&lease, .renewed(number, .success(3)), 3300, [])
        #expect(lease.validity ?? (0, 0) == (number, 5100))
        // Its end is noticed, and another one has another number.
        expect(&lease, .tick, 5200, [.lease(nil)])
        #expect(lease.validity == nil)
        guard case .grant(let other, _)? = lease.handle(.tick, at: 5200).first else {
            Issue.record("no other lease is asked for")
            return
        }
        #expect(other != number)
        expect(&lease, .granted(number, .success(3)), 5300, [])
    }

    private func expect(
        _ lease: inout NodeLease, _ event: NodeLease.Event, _ time: Int64, _ expected: [NodeLease.Action],
        _ location: SourceLocation = #_sourceLocation
    ) {
        let actions = lease.handle(event, at: time)
        #expect(actions == expected, sourceLocation: location)
    }

    @Test("trimming knows where batches begin") func tail() {
        var tail = TailMeasure(stretchBytes: 100)
        for first in stride(from: 1 as UInt64, to: 100, by: 10) { tail.add(first, bytes: 60) }
        #expect(tail.bytes == 600)
        #expect(tail.floor(keeping: 600) == nil)
        #expect(tail.floor(keeping: 200) == 71)
        #expect(tail.beginning(upTo: 55) == 51)
        tail.trim(to: 71)
        #expect(tail.bytes == 180)
        #expect(tail.beginning(upTo: 55) == nil)
    }

    @Test("the bytes of a log that were stated count for a process that has not followed it") func statedTail() {
        var owner = TailMeasure(stretchBytes: 100)
        for first in stride(from: 1 as UInt64, to: 60, by: 10) { owner.add(first, bytes: 60) }
        let statement = owner.bytes(of: 7)
        var next = TailMeasure(stretchBytes: 100)
        next.add(41, bytes: 60)
        #expect(next.complete(with: statement, of: 8, from: 21) == nil, "another history")
        #expect(next.complete(with: [9] + statement.dropFirst(), of: 7, from: 21) == nil, "a later version")
        #expect(next.complete(with: statement.dropLast(), of: 7, from: 21) == nil)
        #expect(next.bytes == 60)
        // Another time, nothing is counted again.
        for _ in 0..<2 {
            #expect(next.complete(with: statement, of: 7, from: 21) == 51)
            // The one that began at 31 may have been filled.
            #expect(next.bytes == 60 + 100 + 60)
            #expect(next.floor(keeping: 160) == 31)
        }
    }
}
