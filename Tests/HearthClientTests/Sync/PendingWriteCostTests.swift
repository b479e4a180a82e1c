import HearthJSONTree
import Testing
import HearthWireProtocol

@testable import HearthClient

/// Writes made without a connection: each costs about the same, however many are under way.
@Suite("The cost of pending writes") struct PendingWriteCostTests {
    private func write(_ id: Int, _ path: String) throws -> PendingWrite {
        let target = WriteTarget(path: try Path(parsing: path))
        return PendingWrite(
            id: id, assignments: [NodeAssignment(target: target, value: Node(.integer(Int64(id))))], isVisible: true)
    }

    /// A tree that observes an empty list.
    private func emptyList() throws -> SyncTree {
        let tree = SyncTree()
        let output = tree.observe(1, try Path(parsing: "/list"), .everything, [.child, .value])
        for listen in output.starts { _ = tree.listenCompleted(listen) }
        return tree
    }

    /// The time that `count` writes take, made and then acknowledged.
    private func time(_ count: Int, _ path: (Int) -> String) throws -> Duration {
        let tree = try emptyList()
        let writes = try (1...count).map { try write($0, path($0)) }
        return ContinuousClock().measure {
            for write in writes { _ = tree.write(write) }
            for id in 1...count { _ = tree.acknowledge(id) }
        }
    }

    /// Well below a second on a quiet machine. A cost per write that grows with the writes under way takes minutes.
    private let bound = Duration.seconds(15)

    @Test("is linear for new children of an empty list") func newChildren() throws {
        #expect(try time(5000) { "/list/child\($0)" } < bound)
    }

    @Test("is linear for one place") func onePlace() throws {
        #expect(try time(10_000) { _ in "/list/child" } < bound)
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
