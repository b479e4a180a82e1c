import HearthServerSupport
import HearthClient
import Synchronization
import Testing

/// What observers are told, as lines, in order.
final class EventLog: Sendable {
    private let lines = AsyncStream.makeStream(of: String.self)

    func add(_ line: String) { lines.continuation.yield(line) }

    /// Waits for the next line.
    func next() async -> String? {
        for await line in lines.stream { return line }
        return nil
    }

    /// Waits for so many lines.
    func next(_ count: Int) async -> [String] {
        var all: [String] = []
        for _ in 0..<count {
            guard let line = await next() else { break }
            all.append(line)
        }
        return all
    }

    /// Observes all kinds of events.
    func observe(
        _ query: some DatabaseQueryable, _ name: String = "", _ kinds: [DataEventType] = DataEventType.allCases
    ) {
        let name = name.isEmpty ? "" : name + " "
        for kind in kinds {
            query.observe(kind) { [self] snapshot, previous in
                let place = kind == .value ? "" : " \(snapshot.key ?? "?") after \(previous ?? "-")"
                add("\(name)\(kind)\(place): \(snapshot.value)")
            } withCancel: { [self] error in
                add("\(name)cancelled: \(error)")
            }
        }
    }
}

extension DatabaseQueryable {
    fileprivate func observe(
        _ kind: DataEventType, _ block: @escaping @Sendable (DataSnapshot, String?) -> Void,
        withCancel cancel: @escaping @Sendable (DatabaseError) -> Void
    ) {
        observe(kind, andPreviousSiblingKeyWith: block, withCancel: cancel)
    }
}

extension TestDatabase {
    /// A client that comes back quickly, and ends with the server.
    func client(_ configure: (inout DatabaseOptions) -> Void = { _ in }) throws -> Database {
        var options = DatabaseOptions.patient
        configure(&options)
        return databases.add(try Database(url: urlText, options: options))
    }
}
