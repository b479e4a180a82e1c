import HearthJSONTree
import HearthTestSupport
import Testing
import HearthServerProtocol
import HearthWireProtocol

@testable import HearthClient

/// Writes made without a connection: each costs about the same, however many are under way.
@Suite("The cost of pending writes") struct PendingWriteCostTests {
    private func write(_ id: Int, _ path: String) throws -> PendingWrite {
        let target = WriteTarget(path: try Path(parsing: path))
        return PendingWrite(
            id: id, assignments: [NodeAssignment(target: target, value: Node(.integer(Int64(id))))], isVisible: true)
    }

    /// What a list's observer knows of it.
    enum Observed: CaseIterable {
        /// The whole list, which is empty.
        case whole
        /// Nothing: the server has not answered yet.
        case unanswered
        /// What a query with a limit selects, which is nothing.
        case limited
        /// What a query with a limit selected in an earlier process.
        case restored
    }

    private func list(_ observed: Observed) throws -> SyncTree {
        let tree = SyncTree()
        let limited = try QueryObject(parsing: Array(#"{"l":10,"vf":"r"}"#.utf8))
        let isLimited = observed == .limited || observed == .restored
        let output = tree.observe(1, try Path(parsing: "/list"), isLimited ? limited : .everything, [.child, .value])
        for listen in output.starts {
            if observed == .restored { _ = tree.restore(listen, .null) }
            if observed == .whole || observed == .limited { _ = tree.listenCompleted(listen) }
        }
        return tree
    }

    /// What leaves a list's last ten children when a write adds one.
    private func left(_ id: Int, _ path: (Int) -> String) -> [NodeAssignment] {
        guard id > 10, path(id) != path(id - 10) else { return [] }
        return (try? write(id, path(id - 10)))?.assignments.map { NodeAssignment(target: $0.target, value: .null) }
            ?? []
    }

    /// The processor time that `count` writes take, made and then acknowledged; in the end, the server answers the
    /// listens. It reports the writes that a query selects.
    private func time(_ count: Int, _ observed: Observed, _ path: (Int) -> String) throws -> Duration {
        let tree = try list(observed)
        let writes = try (1...count).map { try write($0, path($0)) }
        return threadTime {
            for write in writes { _ = tree.write(write) }
            for write in writes {
                if observed == .limited { _ = tree.serverChanged(tag: 1, write.assignments + left(write.id, path)) }
                _ = tree.acknowledge(write.id)
            }
            for listen in tree.awaited { _ = tree.listenCompleted(listen) }
            #expect(tree.writes.isEmpty)
        }
    }

    /// Four times the writes cost four times as much, and seven with larger collections and cold caches; sixteen times
    /// if the cost of a write grows with the writes under way.
    private func isLinear(_ observed: Observed, _ path: (Int) -> String) throws -> Bool {
        _ = try time(50, observed, path)
        var (many, few) = (try time(1200, observed, path), try time(300, observed, path))
        // What else the processor does can only add to a time: the shortest of several is the nearest to the cost.
        for _ in 0..<4 where many / few >= 11 {
            many = try min(many, time(1200, observed, path))
            few = try min(few, time(300, observed, path))
        }
        return many / few < 11
    }

    @Test("is linear for new children of a list", arguments: Observed.allCases)
    func newChildren(observed: Observed) throws {
        #expect(try isLinear(observed) { "/list/\($0)" })
    }

    @Test("is linear for one place", arguments: Observed.allCases)
    func onePlace(observed: Observed) throws {
        #expect(try isLinear(observed) { _ in "/list/child" })
    }

    @Test("keeps a priority that comes back with a reverted removal") func revertedRemoval() throws {
        let tree = SyncTree()
        let list = try Path(parsing: "/list")
        let output = tree.observe(1, list, .everything, [.value])
        let value = Node(try CanonicalJSON.parse(Array(#"{".priority":1,"a":1,"b":2}"#.utf8)).value)
        _ = tree.serverChanged([NodeAssignment(target: WriteTarget(path: list), value: value)])
        for listen in output.starts { _ = tree.listenCompleted(listen) }
        func remove(_ id: Int, _ key: String) throws -> PendingWrite {
            let target = WriteTarget(path: try Path(parsing: "/list/\(key)"))
            return PendingWrite(id: id, assignments: [NodeAssignment(target: target, value: .null)], isVisible: true)
        }
        _ = tree.write(try remove(1, "a"))
        _ = tree.write(try remove(2, "b"))
        _ = tree.write(try write(3, "/list/c"))
        _ = tree.removeWrite(2)
        #expect(tree.localValue(at: list).node == tree.place(at: list)?.views.first?.value)
        #expect(tree.localValue(at: list).node.priority != nil)
    }
}
