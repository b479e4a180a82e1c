@testable import HearthClient
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol

@Suite("The sync tree")
struct SyncTreeTests {
    @Test("does what each script says, wherever in the database", arguments: SyncCase.all)
    func script(_ each: SyncCase) throws {
        for base in ["", "/base", "/a/deep/base"] {
            var script = SyncScript(base: base)
            #expect(try script.run(each.script) == each.script, "\(each.name), below '\(base)'")
        }
    }

    @Test("a write that the server has agreed to lies over the data of an earlier process until there is newer data")
    func writeOverRestoredData() throws {
        let tree = SyncTree()
        let target = WriteTarget(path: try Path(parsing: "/atlas"))
        let (old, new) = (Node(CanonicalJSON("1")), Node(CanonicalJSON("2")))
        let write = PendingWrite(
            id: 1, assignments: [NodeAssignment(target: target, value: new)], isVisible: true)
        _ = tree.write(write)
        let begun = tree.observe(1, target.path, .everything, .value) { tree.restore($0, old).events }
        #expect(begun.events == [SyncEvent(observer: 1, path: target.path, what: .value(new))])
        #expect(tree.acknowledge(1).events.isEmpty)
        #expect(tree.serverChanged([NodeAssignment(target: target, value: new)]).events.isEmpty)
        #expect(tree.listenCompleted(try #require(begun.starts.first)).events.isEmpty)
        #expect(tree.writes.isEmpty)
        #expect(tree.awaited.isEmpty)
    }
}
