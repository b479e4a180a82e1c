import HearthServerSupport
import HearthClientSession
@testable import HearthClient
import HearthJSONTree
import Testing
import HearthWireProtocol

@Suite("The position of what a listen knows")
struct CommitPositionTests {
    private let tree = SyncTree()

    private func listen(_ id: Int, _ text: String) throws -> ServerListen {
        try #require(tree.observe(id, try path(text), .everything, .value).starts.first)
    }

    private func change(_ text: String, _ value: String, _ position: String = "") throws -> [SyncEvent] {
        let assignment = NodeAssignment(target: WriteTarget(path: try path(text)), value: Node(try json(value)))
        return tree.serverChanged([assignment], Array(position.utf8)).events
    }

    private func position(_ listen: ServerListen) -> String {
        String(decoding: tree.position(of: listen), as: UTF8.self)
    }

    @Test("positions are compared by their numbers, within an epoch, and those of one number by their checks")
    func order() {
        for (a, b, isBehind) in [
            ("e:10", "e:9", true), ("e:9", "e:10", false), ("e:9", "e:9", false), ("f:1", "e:9", true),
            ("e:1", "", true), ("", "e:1", true), ("e:10:aa", "e:9:bb", true), ("e:9:bb", "e:10:aa", false),
            ("e:9:aa", "e:9:aa", false), ("e:9:aa", "e:9:bb", true), ("e:9:bb", "e:9:aa", true),
            // Kept of a server that gave none.
            ("e:9:aa", "e:10000", false), ("e:10000:aa", "e:9", true), ("e:1:aa", "e:0", true),
        ] {
            #expect(Array(a.utf8).isBehind(Array(b.utf8)) == isBehind, "\(a) \(b)")
        }
    }

    @Test("is that of the answer or the last change, and nobody's while a beginning is half known")
    func life() throws {
        let a = try listen(1, "a")
        #expect(position(a) == "")
        #expect(try change("a", "1").count == 1)
        #expect(position(a) == "")
        _ = tree.listenCompleted(a, Array("e:5".utf8))
        #expect(position(a) == "e:5")
        #expect(try change("a", "2", "e:6").count == 1)
        // What another listen missed is nothing new to this one.
        #expect(try change("a", "1", "e:5").isEmpty)
        #expect(try change("a", "3", "e:6").isEmpty)
        #expect(position(a) == "e:6")
        // An answer that was overtaken does not set it back, but one that says that the log has lost its end.
        _ = tree.listenCompleted(a, Array("e:5".utf8), isRecovered: true)
        #expect(position(a) == "e:6")
        _ = tree.listenCompleted(a, Array("e:4".utf8))
        #expect(position(a) == "e:4")
        #expect(try change("a", "4", "e:5").count == 1)
        #expect(position(a) == "e:5")
        // It starts over, and the connection ends before the answer.
        #expect(try change("a", "9").count == 1)
        #expect(position(a) == "")
        // A server that knows none.
        _ = tree.listenCompleted(a)
        #expect(position(a) == "")
    }

    @Test("nothing is a value too")
    func nothing() throws {
        let a = try listen(1, "a")
        _ = tree.listenCompleted(a, Array("e:5".utf8))
        #expect(position(a) == "e:5")
    }

    @Test("goes with the data to listens below when the one above ends")
    func uncovering() throws {
        let above = try listen(1, "a")
        #expect(tree.observe(2, try path("a/b"), .everything, .value).starts.isEmpty)
        _ = try change("a", #"{"b":1,"c":2}"#)
        _ = tree.listenCompleted(above, Array("e:5".utf8))
        let below = try #require(tree.removeObserver(1).starts.first)
        #expect(below.path == (try path("a/b")))
        #expect(position(below) == "e:5")
        // The other way, the whole is asked for again.
        let again = try listen(3, "a")
        #expect(position(again) == "")
        #expect(tree.cached(again) == nil)
    }

    @Test("what is restored has one, unless parts of it are of another time")
    func restoring() throws {
        let first = try listen(1, "a")
        _ = tree.restore(first, Node(try json(#"{"b":1,"c":1}"#)), Array("e:5".utf8))
        #expect(position(first) == "e:5")
        for (time, expected) in [("e:7", "e:7"), ("e:6", "")] {
            let tree = SyncTree()
            let below = try #require(tree.observe(1, try path("a/b"), .everything, .value).starts.first)
            _ = tree.serverChanged([.init(target: WriteTarget(path: below.path), value: Node(try json("9")))])
            _ = tree.listenCompleted(below, Array("e:7".utf8))
            let above = try #require(tree.observe(2, try path("a"), .everything, .value).starts.first)
            let output = tree.restore(above, Node(try json(#"{"b":1,"c":1}"#)), Array(time.utf8))
            #expect(tree.position(of: above) == Array(expected.utf8))
            #expect(tree.cached(above)?.canonical == (try json(#"{"b":9,"c":1}"#)))
            // A listener that has seen the newer part does not get the older one.
            #expect(output.events.map(\.observer) == [2])
        }
    }
}
