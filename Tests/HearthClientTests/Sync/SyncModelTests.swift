@testable import HearthClient
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthServerProtocol

/// A server as simple as can be, and one client of it whose messages travel one after the other: what observers are
/// told must at every step be what a query selects of the server's value with the client's writes on top.
@Suite("The sync tree against a simple model")
struct SyncModelTests {
    private struct Model {
        var trees: RandomTrees
        let tree = SyncTree()
        var server = CanonicalJSON.null
        /// Writes that the server has not seen, oldest first; then those whose answers are on the way back.
        var upstream: [(id: Int, target: WriteTarget, value: CanonicalJSON, isRefused: Bool)] = []
        var downstream: [Message] = []
        var listens: [ServerListen] = []
        var observers: [Int: (path: Path, query: QueryObject)] = [:]
        var replayed: [Int: [(key: Key, node: Node)]] = [:]
        var values: [Int: Node] = [:]
        var lastWrite = 0
        var lastObserver = 0

        enum Message {
            case data(ServerListen, CanonicalJSON)
            case changed(ServerListen, Path, CanonicalJSON)
            case answered(ServerListen)
            case stopped(ServerListen)
            case acknowledged(Int)
            case refused(Int)
        }

        let seed: UInt64

        init(seed: UInt64) {
            self.seed = seed
            trees = RandomTrees(seed: seed)
            trees.keyPool = ["a", "b", "c", "1", "n"].map { Array($0.utf16) }
        }

        // MARK: Steps

        mutating func step() {
            switch trees.chance(1, in: 2) ? 0 : Int.random(in: 1...5, using: &trees.random) {
            case 0: deliver()
            case 1: write()
            case 2: commit(path(), value())
            case 3: observe()
            case 4: removeObserver()
            default: serve()
            }
        }

        mutating func settle() {
            while !upstream.isEmpty || !downstream.isEmpty {
                serve()
                deliver()
            }
        }

        private mutating func path() -> Path {
            Path((0..<Int.random(in: 0...3, using: &trees.random)).map { _ in TreeModel.realKey(trees.key()) })
        }

        private mutating func value() -> CanonicalJSON {
            trees.chance(1, in: 4) ? .null : CanonicalJSON(trees.tree(depth: 2).canonicalText)
        }

        private mutating func write() {
            lastWrite += 1
            let (target, value) = (WriteTarget(path: path()), value())
            upstream.append((lastWrite, target, value, trees.chance(1, in: 4)));
            let assignment = NodeAssignment(target: target, value: Node(value))
            take(tree.write(PendingWrite(id: lastWrite, assignments: [assignment], isVisible: true)))
        }

        private mutating func observe() {
            guard observers.count < 6 else { return }
            lastObserver += 1
            let queries = [
                "{}", "{}", #"{"i":".key","l":2,"vf":"l"}"#, #"{"i":"n","l":2,"vf":"r"}"#, #"{"i":".value","sp":1}"#,
                #"{"i":"a"}"#,
            ]
            let conditional = [
                #"{"where":[["a","!=",null]],"limit":null}"#, #"{"orderBy":[["a","desc"],"n"],"limit":2}"#,
                #"{"where":[["or",[".value",">",0],["b","==",null]]],"orderBy":[".value"],"limit":3}"#,
            ]
            let hasConditions = trees.chance(1, in: 3)
            let text = Array(trees.pick(hasConditions ? conditional : queries).utf8)
            let object =
                hasConditions ? try? QueryObject(parsingConditions: text) : try? QueryObject(parsing: text)
            guard let query = object else { return }
            let path = path()
            observers[lastObserver] = (path, query)
            replayed[lastObserver] = []
            take(tree.observe(lastObserver, path, query, [.child, .value]))
        }

        private mutating func removeObserver() {
            guard let id = observers.keys.sorted().randomElement(using: &trees.random) else { return }
            observers[id] = nil
            values[id] = nil
            take(tree.removeObserver(id))
        }

        // MARK: The server

        /// Listens take effect at once, as messages to the server pass each other in order.
        private mutating func begin(_ listen: ServerListen) {
            // What the server was sent before is there first.
            while !upstream.isEmpty { serve() }
            listens.append(listen)
            let value = selected(listen)
            // A server sends no value where there is none, or where the client has the same.
            let cached = tree.cached(listen)?.canonical ?? .null
            if value != cached || trees.chance(1, in: 2) { downstream.append(.data(listen, value)) }
            downstream.append(.answered(listen))
        }

        private func selected(_ listen: ServerListen) -> CanonicalJSON {
            let value = server.value(at: listen.path)
            return listen.query?.query.select(from: value) ?? value
        }

        private mutating func serve() {
            guard !upstream.isEmpty else { return }
            let write = upstream.removeFirst()
            if write.isRefused {
                downstream.append(.refused(write.id))
            } else {
                commit(write.target.path, write.value)
                downstream.append(.acknowledged(write.id))
            }
        }

        private mutating func commit(_ path: Path, _ value: CanonicalJSON) {
            let before = listens.map(selected)
            server = server.setting(value, at: path)
            for (listen, before) in zip(listens, before) {
                let after = selected(listen)
                if before == after { continue }
                if listen.tag != nil || path.contains(listen.path) {
                    downstream.append(.data(listen, after))
                } else if listen.path.contains(path) {
                    downstream.append(.changed(listen, path, value))
                }
            }
        }

        // MARK: The client

        private mutating func deliver() {
            guard !downstream.isEmpty else { return }
            switch downstream.removeFirst() {
            case .data(let listen, let value): change(listen, listen.path, value)
            case .changed(let listen, let path, let value): change(listen, path, value)
            case .answered(let listen): take(tree.listenCompleted(listen))
            case .stopped(let listen): tree.stopAnswered(listen)
            case .acknowledged(let id): take(tree.acknowledge(id))
            case .refused(let id): take(tree.removeWrite(id))
            }
        }

        private mutating func change(_ listen: ServerListen, _ path: Path, _ value: CanonicalJSON) {
            let assignments = [NodeAssignment(target: WriteTarget(path: path), value: Node(value))]
            take(listen.tag.map { tree.serverChanged(tag: $0, assignments) } ?? tree.serverChanged(assignments))
        }

        private mutating func take(_ output: SyncOutput) {
            for event in output.events { take(event) }
            for listen in output.starts { begin(listen) }
            for stopped in output.stops {
                while !upstream.isEmpty { serve() }
                listens.removeAll { $0 == stopped }
                // Earlier messages are still in transit.
                tree.stopSent(stopped)
                downstream.append(.stopped(stopped))
            }
        }

        private mutating func take(_ event: SyncEvent) {
            switch event.what {
            case .value(let node): values[event.observer] = node
            case .child(let kind, let key, let node, let previous):
                var children = replayed[event.observer] ?? []
                let old = children.firstIndex { $0.key == key }
                #expect((old == nil) == (kind == .added), "seed \(seed): \(kind) \(key)")
                if let old { children.remove(at: old) }
                if kind != .removed {
                    let before = previous.flatMap { previous in children.firstIndex { $0.key == previous } }
                    #expect(
                        previous == nil || before != nil,
                        "seed \(seed): \(kind) \(key) behind \(previous?.description ?? "-")")
                    children.insert((key, node), at: before.map { $0 + 1 } ?? 0)
                }
                replayed[event.observer] = children
            }
        }

        // MARK: What must be true

        /// When nothing is under way, all observers have what the server has.
        func checkSettled() {
            for (id, observer) in observers {
                let value = observer.query.query.select(from: server.value(at: observer.path))
                #expect(values[id]?.canonical == value, "seed \(seed): \(observer.path) \(observer.query.query)")
                check(id, observer.query.query, Node(value))
            }
            #expect(tree.writes.isEmpty, "seed \(seed)")
            #expect(tree.awaited.isEmpty, "seed \(seed)")
            #expect(Set(tree.listens) == Set(listens), "seed \(seed)")
        }

        private func check(_ id: Int, _ query: Query, _ value: Node) {
            let expected = query.selectedPlaces(in: value).map(\.key)
            let found = replayed[id] ?? []
            #expect(found.map(\.key) == expected, "seed \(seed): children of \(id)")
            for child in found { #expect(child.node == value.child(child.key), "seed \(seed): child \(child.key)") }
        }
    }

    private static let seeds =
        TestScale.seed.map { [$0] } ?? (0..<(40 * TestScale.factor)).map { $0 + UInt64.random(in: 0...9999) * 10_000 }

    @Test("in the end everybody has what the server has", arguments: seeds)
    func model(seed: UInt64) {
        var model = Model(seed: seed)
        for _ in 0..<400 { model.step() }
        model.settle()
        model.checkSettled()
    }
}
