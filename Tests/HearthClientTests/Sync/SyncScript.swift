@testable import HearthClient
import HearthJSONTree
import Testing
import HearthWireProtocol
import HearthServerProtocol

/// A test of the sync tree as text. A line without indentation is a step; the indented lines below it are all its
/// effects, in order: events as `OBSERVER KIND …`, then listens.
///
///     observe a /rooms value child        an observer; a query object may stand after the kinds
///     remove a
///     server /rooms/x {"n":1}             what the server says for listens to whole places
///     merge /rooms {"x":1,"y/z":null}
///     tagged 1 /rooms/x {"n":1}           the same for the listen with tag 1
///     taggedmerge 1 /rooms {"x":null}
///     listened /rooms                     the server's answer to a listen; `listened #1` for a tagged one
///     refused /rooms
///     ending /rooms                       the server is asked to end a listen, and may go on to report to it
///     ended /rooms                        the server's answer to that
///     set 1 /rooms/x {"n":2} [hidden]     write 1 of this client
///     update 2 /rooms {"x":null}
///     ack 1
///     revert 1
struct SyncScript {
    struct Failure: Error {
        let text: String
    }

    private let tree = SyncTree()
    private var observers: [String: Int] = [:]
    private var listens: [ServerListen] = []
    private let base: String

    /// - parameter base: a path that all paths of the script lie below.
    init(base: String = "") { self.base = base }

    /// Runs the script, and answers it with what really came of each step.
    mutating func run(_ text: String) throws -> String {
        var lines: [String] = []
        for line in text.split(separator: "\n") where !line.hasPrefix(" ") {
            lines.append(String(line))
            let output = try step(line.split(separator: " ").map(String.init))
            lines += output.map { "  " + $0 }
        }
        return lines.joined(separator: "\n")
    }

    private func path(_ text: String) throws -> Path { try Path(parsing: base + text) }

    private mutating func step(_ words: [String]) throws -> [String] {
        switch words[0] {
        case "observe": return try observe(words)
        case "remove":
            guard let id = observers[words[1]] else { throw Failure(text: "nobody is named \(words[1])") }
            return lines(tree.removeObserver(id))
        case "server": return lines(tree.serverChanged([try assignment(words[1], words[2])]))
        case "merge": return lines(tree.serverChanged(try assignments(words[1], words[2]), isMerge: true))
        case "tagged": return lines(tree.serverChanged(tag: try tag(words[1]), [try assignment(words[2], words[3])]))
        case "taggedmerge":
            return lines(tree.serverChanged(tag: try tag(words[1]), try assignments(words[2], words[3])))
        case "listened": return lines(tree.listenCompleted(try listen(words[1])))
        case "refused":
            let (failed, output) = tree.listenFailed(try listen(words[1]))
            return failed.map { "\(name($0)) cancelled" } + lines(output)
        case "ending":
            tree.stopSent(try listen(words[1]))
            return []
        case "ended":
            tree.stopAnswered(try listen(words[1]))
            return []
        case "set":
            return lines(tree.write(try write(words, [try assignment(words[2], words[3])])))
        case "update": return lines(tree.write(try write(words, try assignments(words[2], words[3]))))
        case "ack": return lines(tree.acknowledge(try number(words[1])))
        case "revert": return lines(tree.removeWrite(try number(words[1])))
        default: throw Failure(text: "no step \(words[0])")
        }
    }

    private mutating func observe(_ words: [String]) throws -> [String] {
        var kinds: EventKinds = []
        var query = QueryObject.everything
        for word in words[3...] {
            switch word {
            case "value": kinds.insert(.value)
            case "child": kinds.formUnion(.child)
            case "none": break
            default: query = try QueryObject(parsing: Array(word.utf8))
            }
        }
        let id = observers.count + 1
        observers[words[1]] = id
        return lines(tree.observe(id, try path(words[2]), query, kinds))
    }

    private func number(_ word: String) throws -> Int { try #require(Int(word)) }

    private func tag(_ word: String) throws -> Int64 { try #require(Int64(word)) }

    private func write(_ words: [String], _ assignments: [NodeAssignment]) throws -> PendingWrite {
        PendingWrite(id: try number(words[1]), assignments: assignments, isVisible: words.last != "hidden")
    }

    private func assignment(_ place: String, _ json: String) throws -> NodeAssignment {
        let value = try CanonicalJSON.parse(Array(json.utf8)).value
        return NodeAssignment(target: try WriteTarget(parsing: base + place), value: Node(value))
    }

    private func assignments(_ place: String, _ json: String) throws -> [NodeAssignment] {
        let text = Array(json.utf8)
        let base = try path(place)
        let parsed = try text.withUnsafeBytes { try WireAssignment.parse($0, base: base) }
        return parsed.map { NodeAssignment(target: $0.target, value: Node($0.value)) }
    }

    private func listen(_ word: String) throws -> ServerListen {
        let found = try listens.last { listen in
            word.hasPrefix("#")
                ? listen.tag == Int64(word.dropFirst()) : try listen.tag == nil && listen.path == path(word)
        }
        return try #require(found)
    }

    private func name(_ observer: Int) -> String { observers.first { $0.value == observer }?.key ?? "?" }

    private mutating func lines(_ output: SyncOutput) -> [String] {
        listens += output.starts
        return output.events.map(line) + output.starts.map { "listen " + text($0) }
            + output.stops.map { "unlisten " + text($0) }
    }

    private func text(_ listen: ServerListen) -> String {
        let base = (try? Path(parsing: base)) ?? .root
        return (listen.path.suffix(after: base)?.description ?? "?") + (listen.tag.map { " #\($0)" } ?? "")
    }

    private func line(_ event: SyncEvent) -> String {
        switch event.what {
        case .value(let node): return "\(name(event.observer)) value \(node.canonical)"
        case .child(.removed, let key, let node, _): return "\(name(event.observer)) removed \(key) \(node.canonical)"
        case .child(let kind, let key, let node, let previous):
            return "\(name(event.observer)) \(kind) \(key) \(node.canonical) after \(previous?.description ?? "-")"
        }
    }
}
