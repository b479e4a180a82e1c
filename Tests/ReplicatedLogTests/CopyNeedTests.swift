import HearthEtcdMessages
import HearthRealtimeDatabase
import Testing
import HearthReplicatedLog

@Suite("A node whose files cannot follow the log") struct CopyNeedTests {
    /// Brings a node with files up to a position to a log with the numbers 11 to 20, of history 7. That has continued
    /// history 6 after 10, and history 5 has no part in it.
    private static func actions(
        _ position: LogPosition
    ) throws -> (actions: [ReplicatedLog.Action], engine: SimulatedEngine) {
        var engine = SimulatedEngine()
        let keys = LogKeys(database: "d")
        let head = LogHead(epoch: 7, lastSequence: 20, lastTime: 0, lastAppend: AppendID(term: 1, number: 1))
        let past = LogPast([.init(name: 5, end: 0), .init(name: 6, end: 10)])
        _ = engine.grant(5, until: .max)
        _ = try engine.apply(
            EtcdTransaction(
                then: [
                    .put(key: keys.head, value: head.bytes), .put(key: keys.floor, value: LogTransactions.number(11)),
                    .put(key: keys.past, value: past.bytes),
                ], isRepeatable: true)
        ).get()
        return (run(position, &engine), engine)
    }

    /// Runs a node until it has nothing more to ask.
    private static func run(
        _ position: LogPosition, isOfLog: Bool = false, _ engine: inout SimulatedEngine
    ) -> [ReplicatedLog.Action] {
        var log = ReplicatedLog(
            database: "d", owner: OwnerRecord(node: "n", incarnation: 1), position: position, isOfLog: isOfLog,
            foundingEpoch: 1)
        return run(&log, [.lease(5), .rank(0), .kept(through: position.sequence), .tick], from: 0, &engine)
    }

    private static func run(
        _ log: inout ReplicatedLog, _ first: [ReplicatedLog.Event], from start: Int64, _ engine: inout SimulatedEngine
    ) -> [ReplicatedLog.Action] {
        var actions: [ReplicatedLog.Action] = []
        var events = first
        for time in 0..<20 {
            var new: [ReplicatedLog.Action] = []
            for event in events.isEmpty ? [.tick] : events { new += log.handle(event, at: start + Int64(time) * 200) }
            actions += new
            events = []
            for case .call(let transaction, let serial) in new {
                events.append(.replied(serial, engine.apply(transaction)))
            }
        }
        return actions
    }

    private static func mismatch(_ actions: [ReplicatedLog.Action]) -> LogMismatch? {
        for case .copy(epoch: 7, from: 11, let mismatch) in actions { return mismatch }
        return nil
    }

    private static let kept = LogKeys(database: "d").kept(by: "n")

    @Test(
        "asks for a copy, and states that it needs the log from its beginning on, so that the owner trims no more",
        arguments: [
            (LogPosition(epoch: 7, sequence: 9), LogMismatch.behind), (LogPosition(epoch: nil, sequence: 0), .behind),
            (LogPosition(epoch: 8, sequence: 0), .behind),
            (LogPosition(epoch: 6, sequence: 9), .behind), (LogPosition(epoch: 6, sequence: 11), .replaced),
            (LogPosition(epoch: 5, sequence: 3), .replaced),
        ])
    func needsCopy(position: LogPosition, mismatch: LogMismatch) throws {
        let (actions, engine) = try Self.actions(position)
        #expect(Self.mismatch(actions) == mismatch)
        #expect(engine.values[Self.kept].map { LogTransactions.number($0.value) } == 10)
    }

    @Test(
        "is no reason to keep the log if no copy would help",
        arguments: [
            (LogPosition(epoch: 8, sequence: 9), LogMismatch.foreign), (LogPosition(epoch: 7, sequence: 21), .ahead),
        ])
    func isForeign(position: LogPosition, mismatch: LogMismatch) throws {
        let (actions, engine) = try Self.actions(position)
        #expect(Self.mismatch(actions) == mismatch)
        #expect(engine.values[Self.kept].map { LogTransactions.number($0.value) } != 10)
    }

    @Test("follows without a copy if the log begins where its files end")
    func fits() throws {
        #expect(Self.mismatch(try Self.actions(LogPosition(epoch: 7, sequence: 20)).actions) == nil)
        // Only the name of the history is another one.
        #expect(Self.mismatch(try Self.actions(LogPosition(epoch: 6, sequence: 10)).actions) == .continued)
    }

    @Test("is told that they are of the log if they did not say so")
    func marking() throws {
        var (_, engine) = try Self.actions(LogPosition(epoch: 7, sequence: 20))
        func begun(isOfLog: Bool) -> [UInt64] {
            Self.run(LogPosition(epoch: 7, sequence: 20), isOfLog: isOfLog, &engine).compactMap {
                if case .begin(let epoch) = $0 { epoch } else { nil }
            }
        }
        #expect(begun(isOfLog: false) == [7])
        #expect(begun(isOfLog: true) == [])
    }

    @Test("waits if the store has lost the log, and says how far its files are")
    func lost() throws {
        var engine = SimulatedEngine()
        _ = engine.grant(5, until: .max)
        let position = LogPosition(epoch: 7, sequence: 9)
        let keys = LogKeys(database: "d")
        func isLost(_ actions: [ReplicatedLog.Action]) -> Bool {
            actions.contains { if case .lost = $0 { true } else { false } }
        }
        #expect(isLost(Self.run(position, isOfLog: true, &engine)))
        let stated = engine.values[keys.files(of: "n")].flatMap { LogPast($0.value) }
        #expect(stated == LogPast([.init(name: 7, end: 9)]))
        // Nor does a node begin the log that has other files, or none.
        for other in [LogPosition(epoch: nil, sequence: 0), LogPosition(epoch: 3, sequence: 8)] {
            #expect(isLost(Self.run(other, &engine)))
        }
        #expect(engine.values[keys.head] == nil)
        #expect(engine.values[keys.owner] == nil)

        // Not even if it has looked before others said so.
        let owner = OwnerRecord(node: "m", incarnation: 2)
        let transactions = LogTransactions(keys, owner: owner)
        let term = try engine.apply(transactions.claim(lease: 5)).get().revision
        let head = LogHead(epoch: 2, lastSequence: 0, lastTime: 0, lastAppend: AppendID(term: term, number: 0))
        let found = try engine.apply(transactions.establish(head, past: LogPast(), term: term)).get()
        #expect(!found.hasSucceeded)
        _ = try engine.apply(transactions.end(term: term)).get()

        // An operator begins it with the files of a node.
        _ = engine.apply(LogReplacement.establish("d", with: try #require(stated), epoch: 8))
        let reply = try engine.apply(LogReplacement.read("d")).get()
        #expect(LogReplacement.present(reply)?.head?.lastSequence == 9)
        let again = try engine.apply(LogReplacement.establish("d", with: LogPast(), epoch: 9)).get()
        #expect(!again.hasSucceeded)
    }

    private static let unfollowable = [
        (LogPosition(epoch: 7, sequence: 21), LogMismatch.ahead), (LogPosition(epoch: 8, sequence: 9), .foreign),
    ]

    @Test(
        "and that no copy would help looks at the log again, and says what it has once the store has lost that",
        arguments: unfollowable, [true, false])
    func lostLater(_ files: (position: LogPosition, mismatch: LogMismatch), areOfLog: Bool) throws {
        let (position, mismatch) = files
        var (_, engine) = try Self.actions(position)
        var log = ReplicatedLog(
            database: "d", owner: OwnerRecord(node: "n", incarnation: 1), position: position, isOfLog: areOfLog,
            foundingEpoch: 1)
        let stuck = Self.run(
            &log, [.lease(5), .rank(0), .kept(through: position.sequence), .tick], from: 0, &engine)
        #expect(Self.mismatch(stuck) == mismatch)
        // In four seconds.
        #expect(stuck.count { if case .call = $0 { true } else { false } } <= 2)
        // An operator has given the members of etcd empty folders.
        engine = SimulatedEngine()
        _ = engine.grant(6, until: .max)
        let lost = Self.run(&log, [.lease(6), .tick], from: 10_000, &engine)
        #expect(lost.contains { if case .lost = $0 { true } else { false } })
        let stated = engine.values[LogKeys(database: "d").files(of: "n")].flatMap { LogPast($0.value) }
        let end = LogPast.Epoch(name: try #require(position.epoch), end: position.sequence)
        // Files of a server that was alone are not offered for it.
        #expect(stated == (areOfLog ? LogPast([end]) : nil))
        // Others may have the log, which does not begin with these files by itself.
        _ = Self.run(&log, [.tick], from: 20_000, &engine)
        #expect(engine.values[LogKeys(database: "d").head] == nil)
    }

    @Test("and that no copy would help ends a term at once that was given to it", arguments: unfollowable)
    func ownerWithoutCopy(position: LogPosition, mismatch: LogMismatch) throws {
        var (_, engine) = try Self.actions(position)
        let owner = OwnerRecord(node: "n", incarnation: 1)
        let keys = LogKeys(database: "d")
        _ = try engine.apply(LogTransactions(keys, owner: owner).claim(lease: 5)).get()
        #expect(engine.values[keys.owner] != nil)
        var log = ReplicatedLog(database: "d", owner: owner, position: position, isOfLog: true, foundingEpoch: 1)
        var events: [ReplicatedLog.Event] = [.lease(5), .rank(0), .kept(through: position.sequence), .tick]
        // A reading, and the end of the term.
        for time in 0..<3 as Range<Int64> {
            let actions = events.flatMap { log.handle($0, at: 100 * time) }
            events = [.tick]
            for case .call(let transaction, let serial) in actions {
                events.append(.replied(serial, engine.apply(transaction)))
            }
        }
        #expect(engine.values[keys.owner] == nil)
    }

    @Test("and is copying others says so with its lease, unless it has said with that lease what its files have")
    func statedMeanwhile() throws {
        var engine = SimulatedEngine()
        _ = engine.grant(5, until: .max)
        let keys = LogKeys(database: "d")
        let transactions = LogTransactions(keys, owner: OwnerRecord(node: "n", incarnation: 1))
        func kept() -> UInt64? { engine.values[keys.kept(by: "n")].flatMap { LogTransactions.number($0.value) } }
        #expect(try engine.apply(transactions.keepForCopy(10, after: nil, lease: 5)).get().hasSucceeded)
        #expect(kept() == 10)
        let revision = try #require(engine.values[keys.held(by: "n")]).modRevision
        let files = HeldFiles.through(epoch: 7, sequence: 20)
        _ = try engine.apply(transactions.keep(20, files, after: revision, lease: 5)).get()
        for stated in [nil, HeldFiles.nothing] {
            #expect(try !engine.apply(transactions.keepForCopy(10, after: stated, lease: 5)).get().hasSucceeded)
        }
        #expect(kept() == 20)
        #expect(engine.values[keys.held(by: "n")]?.value == files.bytes)
    }

    @Test("as they went beyond its end follows it no more in that history, whose later records are other ones")
    func overtaken() throws {
        let position = LogPosition(epoch: 7, sequence: 21)
        var (_, engine) = try Self.actions(position)
        var log = ReplicatedLog(
            database: "d", owner: OwnerRecord(node: "n", incarnation: 1), position: position, isOfLog: true,
            foundingEpoch: 1)
        _ = Self.run(&log, [.lease(5), .rank(nil), .kept(through: 21), .tick], from: 0, &engine)
        // A node with fewer records has appended others.
        let records = (21...23).map { LogRecord(firstSequence: $0, count: 1, time: 0, body: [7]) }
        let (batch, _) = LogBatch.make(
            records, AppendID(term: 9, number: 1), epoch: 7, partBytesMax: 1000, compresses: false)
        let head = LogHead(epoch: 7, lastSequence: 23, lastTime: 0, lastAppend: batch.id)
        let keys = LogKeys(database: "d")
        _ = engine.apply(
            EtcdTransaction(
                then: [.put(key: keys.batch(21), value: batch.bytes), .put(key: keys.head, value: head.bytes)],
                isRepeatable: true))
        let actions = Self.run(&log, [.tick], from: 10_000, &engine)
        #expect(!actions.contains { if case .follow = $0 { true } else { false } })
        #expect(Self.mismatch(actions) == .ahead)
    }

    @Test("says what it has copied if the store loses the log before it has read it again")
    func lostAfterCopy() throws {
        let empty = LogPosition(epoch: nil, sequence: 0)
        var (_, engine) = try Self.actions(empty)
        var log = ReplicatedLog(
            database: "d", owner: OwnerRecord(node: "n", incarnation: 1), position: empty, foundingEpoch: 1)
        let actions = Self.run(&log, [.lease(5), .rank(0), .kept(through: 0), .tick], from: 0, &engine)
        #expect(Self.mismatch(actions) == .behind)
        // Another node has said so, and so there was a log.
        let keys = LogKeys(database: "d")
        engine = SimulatedEngine()
        _ = engine.grant(6, until: .max)
        let past = LogPast([.init(name: 7, end: 19)])
        _ = try engine.apply(
            EtcdTransaction(then: [.put(key: keys.files(of: "m"), value: past.bytes)], isRepeatable: true)
        ).get()
        let copied = LogPosition(epoch: 7, sequence: 20)
        _ = Self.run(&log, [.copied(copied), .lease(6), .kept(through: 20), .tick], from: 10_000, &engine)
        let stated = engine.values[keys.files(of: "n")].flatMap { LogPast($0.value) }
        #expect(stated == LogPast([.init(name: 7, end: 20)]))
    }

    @Test("sets files aside that had said what they have when others were chosen")
    func givenUp() throws {
        var engine = SimulatedEngine()
        _ = engine.grant(5, until: .max)
        let (chosen, other) = (
            LogPast([.init(name: 7, end: 9)]), LogPast([.init(name: 7, end: 4), .init(name: 8, end: 6)])
        )
        _ = engine.apply(LogReplacement.establish("d", with: chosen, givingUp: [chosen, other], epoch: 1))
        let present = try #require(LogReplacement.present(try engine.apply(LogReplacement.read("d")).get()))
        #expect(present.past == LogPast([.init(name: 8, end: 0), .init(name: 7, end: 9)]))
        #expect(present.hasBegun(with: chosen))
        #expect(!present.hasBegun(with: other))
        for (epoch, isKnown) in [(1, true), (7, true), (8, true), (9, false)] as [(UInt64, Bool)] {
            #expect(present.hasHad(epoch) == isKnown)
        }
        var mismatches: [LogMismatch] = []
        for case .copy(epoch: 1, from: 10, let mismatch) in Self.run(LogPosition(epoch: 8, sequence: 6), &engine) {
            mismatches.append(mismatch)
        }
        #expect(mismatches == [.replaced])
    }

    @Test("has files of a server that was alone: it begins the log with them, and with a history of its own")
    func founding() throws {
        var engine = SimulatedEngine()
        _ = engine.grant(5, until: .max)
        let actions = Self.run(LogPosition(epoch: 7, sequence: 9), &engine)
        let present = try #require(LogReplacement.present(try engine.apply(LogReplacement.read("d")).get()))
        #expect(present.head?.epoch == 1)
        #expect(present.head?.lastSequence == 9)
        #expect(present.past == LogPast([.init(name: 7, end: 9)]))
        var mismatches: [LogMismatch] = []
        for case .copy(epoch: 1, from: 10, let mismatch) in actions { mismatches.append(mismatch) }
        #expect(mismatches == [.continued])
        // Another node can own it meanwhile.
        #expect(engine.values[LogKeys(database: "d").owner] == nil)
    }
}
